/* The entropy of every head over time: as a map, a row a head, and as curves of which one stands out. */

const headName = (k) => `layer ${Math.floor(k / H)} head ${k % H}`;
const headShort = (k) => `${Math.floor(k / H)}.${k % H}`;

/* Where training goes from bin to bin; a bin holds one or two values (columns). */
function headColumns() {
    const h = data.heads, steps = [];
    for (let b = 0; b < h.first.length; b++)
        for (let c = 0; c < h.columns; c++) steps.push(c === 0 ? h.first[b] : h.last[b]);
    return steps;
}

function setUpHeads() {
    const steps = headColumns();
    setUpHeadVerdicts();
    if (steps.length === 0) {
        for (const id of ["entropy-map", "entropy-curves"])
            $(id).append(make("p", {class: "faint"}, "The log has no record of it."));
        return;
    }
    setUpHeadMap(steps);
    setUpHeadCurves(steps);
}

/* Names of options are not broken between lines. */
const withOptions = (text) =>
    text.split(/(--[a-z][a-z-]*)/).map((part, k) => (k % 2 ? make("span", {class: "unbroken"}, part) : part));

/* What training said of heads while it watched them, each with a way to look at the head. */
function setUpHeadVerdicts() {
    const root = $("head-verdicts"), v = data.verdicts;
    if (v.shown.length === 0) return;
    root.append(make("p", {}, "What training said of heads as it watched them" +
        (v.shown.length < v.seen ? ` (${v.shown.length} of ${count(v.seen)}, evenly spread)` : "") + ":"));
    const list = make("ul", {});
    for (const said of v.shown) {
        const item = make("li", {class: "said", "data-step": said.step, "data-verdict": visible(said.verdict)},
            make("b", {}, visible(said.verdict)), ` at step ${count(said.step)}: ${visible(said.says)}`,
            said.advice ? make("span", {class: "faint"}, " · ", ...withOptions(visible(said.advice))) : null);
        for (const k of said.heads.slice(0, 12)) {
            const look = make("button", {type: "button", class: "look", "data-head": k, "aria-label": "Look at " + headName(k)}, headShort(k));
            look.addEventListener("click", () => choose({layer: Math.floor(k / H), head: k % H}));
            item.append(" ", look);
        }
        list.append(item);
    }
    root.append(list);
}

/* A bar that says what the map's colours mean. */
function scaleBar() {
    const canvas = make("canvas", {class: "bar", "aria-hidden": "true"});
    const paint = () => {
        const pen = prepare(canvas, 120, 10);
        pen.drawImage(pixels(120, 1, (k) => scale(k / 119)), 0, 0, 120, 10);
    };
    paint();
    painters.push(paint);
    return make("span", {class: "scale"}, "0 ", canvas, " 1");
}

/* --- the map --- */

function setUpHeadMap(steps) {
    const root = $("entropy-map"), heads = data.heads.values.length, n = steps.length;
    const plot = make("div", {class: "plot", tabindex: "0", role: "group",
        "aria-label": "Entropy of every head over time: arrow keys move; Enter shows the head below"});
    const readout = make("p", {class: "readout", "aria-live": "polite"});
    const row = Math.max(2, Math.min(20, Math.floor(420 / heads))), height = row * heads + margin.bottom + 4;
    const canvas = make("canvas"), mark = make("div", {class: "mark", hidden: ""});
    let left = margin.left, width = 0, at = null;
    root.append(make("figcaption", {}, make("b", {}, "Map"), make("span", {class: "faint"}, " a row is a head, layer.head; time goes to the right" +
        (data.verdicts.shown.length > 0 ? "; a ring marks what was said of it " : " ")), scaleBar()),
                readout, plot);
    plot.append(canvas, mark);
    const place = (column) => left + column / n * width;
    const redraw = keepDrawn(plot, (all) => {
        width = all - margin.left - margin.right;
        const pen = prepare(canvas, all, height);
        pen.clearRect(0, 0, all, height);
        pen.imageSmoothingEnabled = false;
        const nothing = channels(colour("tint"));
        pen.drawImage(pixels(n, heads, (c, r) => (is(data.heads.values[r][c]) ? scale(data.heads.values[r][c]) : nothing)),
                      left, 0, width, row * heads);
        drawVerdictMarks(pen, steps, place, row);
        drawHeadLabels(pen, row, heads);
        drawStepLabels(pen, steps, place, row * heads, all);
        point(at);
    });
    void redraw;
    function point(where) {
        at = where;
        const k = where ? where.head : chosen.layer * H + chosen.head, column = where ? where.column : n - 1;
        const value = data.heads.values[k][column], bin = Math.floor(column / data.heads.columns);
        const span = data.heads.first[bin] === data.heads.last[bin] ? count(data.heads.first[bin])
            : count(data.heads.first[bin]) + " to " + count(data.heads.last[bin]);
        readout.replaceChildren(make("span", {class: "step"}, `${headName(k)}, step ${span}: `),
                                make("b", {"data-head": k, "data-value": is(value) ? value : ""}, is(value) ? value.toFixed(3) : "–"),
                                make("span", {class: "faint"}, kindWords(k)));
        mark.hidden = !where;
        if (where) {
            mark.style.left = place(column) + "px";
            mark.style.top = k * row + "px";
            mark.style.width = Math.max(3, width / n) + "px";
            mark.style.height = row + "px";
        }
    }
    const under = (event) => {
        const box = canvas.getBoundingClientRect(), head = Math.floor((event.clientY - box.top) / row);
        const column = Math.floor((event.clientX - box.left - left) / width * n);
        return head >= 0 && head < heads && column >= 0 && column < n ? {head, column} : null;
    };
    plot.addEventListener("pointermove", (event) => point(under(event)));
    plot.addEventListener("pointerleave", () => point(null));
    plot.addEventListener("blur", () => point(null));
    plot.addEventListener("click", (event) => {
        const there = under(event);
        if (there) choose({layer: Math.floor(there.head / H), head: there.head % H});
    });
    plot.addEventListener("keydown", (event) => {
        const here = at || {head: chosen.layer * H + chosen.head, column: n - 1};
        const move = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
                      PageUp: [0, -10], PageDown: [0, 10], Home: [0, -n], End: [0, n]}[event.key];
        if (event.key === "Enter" || event.key === " ") choose({layer: Math.floor(here.head / H), head: here.head % H});
        else if (!move) return;
        event.preventDefault();
        if (move)
            point({head: Math.min(heads - 1, Math.max(0, here.head + move[0])),
                   column: Math.min(n - 1, Math.max(0, here.column + move[1]))});
    });
    followers.push((change) => {
        if (!at && ("layer" in change || "head" in change)) point(null);
    });
}

/* A ring where something was said of a head. */
function drawVerdictMarks(pen, steps, place, row) {
    const radius = Math.min(5, Math.max(2, row / 2 - 1.5));
    for (const said of data.verdicts.shown)
        for (const k of said.heads) {
            const x = place(Math.max(0, nearest(steps, said.step)) + 0.5), y = (k + 0.5) * row;
            for (const [ink, width] of [["#000", 3], ["#fff", 1.5]]) {
                pen.strokeStyle = ink;
                pen.lineWidth = width;
                pen.beginPath();
                pen.arc(x, y, radius, 0, 2 * Math.PI);
                pen.stroke();
            }
        }
}

/* As many as there is room for. */
function drawHeadLabels(pen, row, heads) {
    const stride = Math.ceil(12 / row);
    pen.fillStyle = colour("faint");
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (let k = 0; k < heads; k += stride) pen.fillText(headShort(k), margin.left - 6, Math.max(6, (k + 0.5) * row));
}

function drawStepLabels(pen, steps, place, bottom, all) {
    pen.textAlign = "center";
    pen.textBaseline = "top";
    const n = steps.length, labels = Math.max(1, Math.min(n, Math.floor(all / 90)));
    for (let k = 0; k < labels; k++) {
        const column = labels > 1 ? Math.round(k * (n - 1) / (labels - 1)) : 0;
        pen.textAlign = k === 0 ? "left" : k === labels - 1 ? "right" : "center";
        pen.fillText(shorten(steps[column]), place(column + (k === labels - 1 ? 1 : k === 0 ? 0 : 0.5)), bottom + 6);
    }
    pen.textAlign = "center";
    pen.fillText("step", all / 2, bottom + 22);
}

/* --- the curves --- */

const layerColour = (layer) => (L <= 8 ? channels(colour("s" + layer % 8)) : scale(layer / (L - 1)));
const css = (c) => `rgb(${c.join(" ")})`;

function setUpHeadCurves(steps) {
    const root = $("entropy-curves"), values = data.heads.values;
    const readout = make("p", {class: "readout", "aria-live": "polite"});
    const plot = make("div", {class: "plot", tabindex: "0", role: "group",
        "aria-label": "Entropy of the heads as curves: left and right move in time, up and down choose the head"});
    root.append(make("figcaption", {}, make("b", {}, "Curves"), make("span", {class: "faint"}, " normalised entropy; the chosen head stands out, click to choose another")),
                readout, plot, headTable(steps));
    let box, x, y, front, cursor, at = -1;
    const redraw = keepDrawn(plot, (width) => {
        const height = 260, svg = drawn("svg", {class: "pic", width, height, "aria-hidden": "true"});
        box = boxOf(width, height);
        x = axis(steps[0], steps[steps.length - 1], box.left, box.right);
        y = axis(0, 1, box.bottom, box.top);
        drawAxes(svg, box, x, y, "step");
        values.forEach((v, k) => {
            const line = drawn("path", {class: "line back", d: pathOf(steps, v, x.place, y.place)});
            line.style.stroke = css(layerColour(Math.floor(k / H)));
            svg.append(line);
        });
        front = drawn("g", {});
        cursor = drawn("g", {class: "cursor"});
        svg.append(front, cursor);
        plot.replaceChildren(svg);
        stand();
    });
    void redraw;
    function stand() {
        const k = chosen.layer * H + chosen.head, d = pathOf(steps, values[k], x.place, y.place);
        const line = drawn("path", {class: "line", d}), last = lastOf({y: values[k]});
        line.style.stroke = css(layerColour(chosen.layer));
        front.replaceChildren(drawn("path", {class: "line halo", d}), line);
        if (is(values[k][last]))
            front.append(drawn("text", {class: "end name b", x: box.right - 2, y: above(y.place(values[k][last]), 7).toFixed(1)}, headShort(k)));
        point(at);
    }
    function point(column) {
        at = column;
        const k = chosen.layer * H + chosen.head, here = column < 0 ? lastOf({y: values[k]}) : column, value = values[k][here];
        readout.replaceChildren(make("span", {class: "step"}, `${headName(k)}, step ${count(steps[here])}: `),
                                make("b", {"data-head": k, "data-value": is(value) ? value : ""}, is(value) ? value.toFixed(3) : "–"));
        cursor.replaceChildren();
        if (column < 0 || !is(value)) return;
        cursor.append(drawn("path", {d: `M${x.place(steps[here]).toFixed(1)} ${box.top}V${box.bottom}`}),
                      drawn("circle", {cx: x.place(steps[here]).toFixed(1), cy: y.place(value).toFixed(1), r: 4}));
    }
    const columnUnder = (event) => nearest(steps, x.value(event.clientX - plot.getBoundingClientRect().left));
    plot.addEventListener("pointermove", (event) => point(columnUnder(event)));
    plot.addEventListener("pointerleave", () => point(-1));
    plot.addEventListener("blur", () => point(-1));
    plot.addEventListener("click", (event) => {
        const column = columnUnder(event), wanted = y.value(event.clientY - plot.getBoundingClientRect().top);
        let best = -1;
        values.forEach((v, k) => {
            if (is(v[column]) && (best < 0 || Math.abs(v[column] - wanted) < Math.abs(values[best][column] - wanted))) best = k;
        });
        if (best >= 0) choose({layer: Math.floor(best / H), head: best % H});
    });
    plot.addEventListener("keydown", (event) => {
        const n = steps.length, k = chosen.layer * H + chosen.head;
        const time = {ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -n, End: n}[event.key];
        const other = {ArrowUp: -1, ArrowDown: 1}[event.key];
        if (!time && !other) return;
        event.preventDefault();
        if (time) point(Math.min(n - 1, Math.max(0, (at < 0 ? n - 1 : at) + time)));
        else if (k + other >= 0 && k + other < L * H) choose({layer: Math.floor((k + other) / H), head: (k + other) % H});
    });
    followers.push((change) => {
        if (box && ("layer" in change || "head" in change)) stand();
    });
}

function headTable(steps) {
    const series = data.heads.values.map((v, k) => ({name: headShort(k), x: steps, y: v}));
    return tableOf({title: "Entropy", yWords: "normalised, layer.head", digits: 3}, series);
}
