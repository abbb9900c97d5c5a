/* Line charts: drawn for the width there is, so that letters keep their size; the pointer or the arrow keys show values,
 * in words beside the lines' names; the same as a table. */

const margin = {left: 52, right: 14, top: 10, bottom: 40};

/* 1, 2 or 5 times a power of ten: about `wanted` ticks over a range. */
function tickDistance(range, wanted) {
    const rough = range / wanted, power = Math.pow(10, Math.floor(Math.log10(rough))), digit = rough / power;
    return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
}

function ticksBetween(low, high, wanted) {
    const d = tickDistance(high - low, wanted), first = Math.ceil(low / d - 1e-9), ticks = [];
    /* Never more than that, though first + k may be too large to count by ones. */
    for (let k = 0; k <= wanted + 1 && (first + k) * d <= high + 1e-9 * d; k++) ticks.push(Number(((first + k) * d).toPrecision(12)));
    return ticks;
}

/* Of a tick: no digit more than it has. */
function shorten(value) {
    const size = Math.abs(value);
    if (size >= 1e7 || (size > 0 && size < 1e-3)) return value.toExponential().replace("+", "");
    return size >= 1e4 ? Number((value / 1000).toPrecision(6)) + "k" : String(value);
}

/* The range of finite values, never empty; with whole ticks at its ends. */
function rangeOf(lists, least) {
    let low = Infinity, high = -Infinity;
    for (const list of lists)
        for (const y of list)
            if (is(y)) {
                low = Math.min(low, y);
                high = Math.max(high, y);
            }
    if (least) {
        low = Math.min(low, least[0]);
        high = Math.max(high, least[1]);
    }
    if (low > high) [low, high] = [0, 1];
    if (high - low < 1e-9 * Math.max(1e-9, Math.abs(high))) [low, high] = [low - Math.abs(low) / 2 - 1e-9, high + Math.abs(high) / 2 + 1e-9];
    const d = tickDistance(high - low, 5);
    return [Math.floor(low / d + 1e-9) * d, Math.ceil(high / d - 1e-9) * d];
}

/* Where in ascending xs the nearest to x is; -1 for none. */
function nearest(xs, x) {
    let low = 0, high = xs.length - 1;
    if (high < 0) return -1;
    while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (xs[middle] < x) low = middle;
        else high = middle;
    }
    return Math.abs(xs[low] - x) <= Math.abs(xs[high] - x) ? low : high;
}

const widest = (lists) => lists.reduce((all, list) => [Math.min(all[0], list[0]), Math.max(all[1], list[list.length - 1])],
                                       [Infinity, -Infinity]);

/* Of gaps and points: a point alone is a dot, as the line's ends are round. */
function pathOf(xs, ys, placeX, placeY) {
    let path = "", pen = false;
    for (let k = 0; k < xs.length; k++) {
        const there = is(ys[k]);
        if (there) path += (pen ? "L" : "M") + placeX(xs[k]).toFixed(1) + " " + placeY(ys[k]).toFixed(1) + (pen ? "" : "h0");
        pen = there;
    }
    return path;
}

function drawAxes(svg, box, x, y, words) {
    for (const tick of ticksBetween(y.low, y.high, Math.max(2, box.height / 45))) {
        const at = y.place(tick);
        svg.append(drawn("path", {class: "grid", d: `M${box.left} ${at.toFixed(1)}H${box.right}`}),
                   drawn("text", {class: "faint end", x: box.left - 6, y: (at + 4).toFixed(1)}, shorten(tick)));
    }
    for (const tick of ticksBetween(x.low, x.high, Math.max(2, Math.min(8, box.width / 80)))) {
        const at = x.place(tick);
        /* The last number ends with the picture. */
        const number = shorten(tick), beyond = at + 4 * number.length > box.right + margin.right;
        svg.append(drawn("path", {class: "grid", d: `M${at.toFixed(1)} ${box.bottom}v4`}),
                   drawn("text", {class: beyond ? "faint end" : "faint mid", x: beyond ? box.right + margin.right - 1 : at.toFixed(1), y: box.bottom + 17}, number));
    }
    svg.append(drawn("text", {class: "faint mid", x: (box.left + box.right) / 2, y: box.bottom + 34}, words));
}

function boxOf(width, height) {
    return {left: margin.left, right: width - margin.right, top: margin.top, bottom: height - margin.bottom,
            width: width - margin.left - margin.right, height: height - margin.top - margin.bottom};
}

function axis(low, high, from, to) {
    const span = high > low ? high - low : 1;
    return {low, high: low + span, place: (v) => from + (v - low) / span * (to - from),
            value: (at) => low + (at - from) / (to - from) * span};
}

/* Where letters stand above a line; below it at the top of the picture, where they would be cut. */
const above = (y, gap) => (y - gap < 10 ? y + gap + 9 : y - gap);

/* The names of lines across, above them: at the right end, or at the left where curves end close by. */
function drawNames(svg, names, box, ends) {
    for (const name of names) {
        const crowded = ends.some((y) => y > name.y - 22 && y < name.y + 8);
        svg.append(drawn("text", {class: crowded ? "name" : "end name", x: crowded ? box.left + 6 : box.right - 2, y: above(name.y, 5).toFixed(1)}, name.text));
    }
}

/* A chart in a <figure>.
 *   series  [{name, x: [..] ascending, y: [..] null is a gap, look: colour 0..7, dashes: "", thin}]
 *   levels  [{name, y}]: lines across, such as ln V
 *   title, yWords: with unit; digits of a value; height; least: [low, high] that the axis shows at least */
function chart(id, options) {
    const root = $(id), series = options.series.filter((s) => s.y.some(is)), levels = options.levels || [];
    const heading = make("figcaption", {}, make("b", {}, options.title), make("span", {class: "faint"}, " " + options.yWords));
    const readout = make("p", {class: "readout", "aria-live": "polite"});
    const plot = make("div", {class: "plot", tabindex: "0", role: "group",
                              "aria-label": options.title + ", " + options.yWords + ": arrow keys move from step to step"});
    root.append(heading);
    if (series.length === 0) {
        root.append(make("p", {class: "faint"}, options.nothing || "The log has no such record."));
        return null;
    }
    root.append(readout, plot, tableOf(options, series));
    const [first, last] = widest(series.map((s) => s.x)), every = mergedSteps(series);
    const [low, high] = rangeOf(series.map((s) => s.y).concat([levels.map((l) => l.y)]), options.least);
    let box, x, y, cursor, at = -1;
    const redraw = keepDrawn(plot, (width) => {
        const height = options.height, svg = drawn("svg", {class: "pic", width, height, "aria-hidden": "true"});
        box = boxOf(width, height);
        x = axis(first, last, box.left, box.right);
        y = axis(low, high, box.bottom, box.top);
        drawAxes(svg, box, x, y, "step");
        const names = [];
        for (const l of levels) {
            svg.append(drawn("path", {class: "ref", d: `M${box.left} ${y.place(l.y).toFixed(1)}H${box.right}`}));
            names.push({text: l.name + " = " + figure(l.y, options.digits), y: y.place(l.y)});
        }
        for (const s of series) svg.append(lineOf(s, x, y));
        drawNames(svg, names, box, series.map((s) => y.place(s.y[lastOf(s)])));
        cursor = drawn("g", {class: "cursor"});
        svg.append(cursor);
        plot.replaceChildren(svg);
        point(at);
    });
    /* At one of the steps there are; -1: at the last, without a mark. */
    function point(k) {
        at = k;
        const step = k < 0 ? last : every[k];
        readout.replaceChildren(make("span", {class: "step"}, k < 0 ? "last: " : "step " + count(step) + ": "));
        cursor.replaceChildren();
        if (k >= 0) cursor.append(drawn("path", {d: `M${x.place(step).toFixed(1)} ${box.top}V${box.bottom}`}));
        for (const s of series) say(s, k < 0 ? lastOf(s) : nearest(s.x, step), step, k >= 0);
    }
    function say(s, j, step, marked) {
        const here = j >= 0 && is(s.y[j]) ? s.y[j] : null;
        const entry = make("span", {class: "entry", "data-series": s.name, "data-step": j >= 0 ? s.x[j] : "",
                                    "data-value": here === null ? "" : here},
                           swatch(s), s.name + " ", make("b", {}, figure(here, options.digits)));
        if (j >= 0 && s.x[j] !== step) entry.append(make("span", {class: "faint"}, " at " + count(s.x[j])));
        readout.append(entry, " ");
        if (marked && here !== null)
            cursor.append(drawn("circle", {cx: x.place(s.x[j]).toFixed(1), cy: y.place(here).toFixed(1), r: 3.5, class: "s" + s.look % 8}));
    }
    const move = (event) => point(nearest(every, x.value(event.clientX - plot.getBoundingClientRect().left)));
    plot.addEventListener("pointermove", move);
    plot.addEventListener("pointerdown", move);
    plot.addEventListener("pointerleave", () => point(-1));
    plot.addEventListener("blur", () => point(-1));
    plot.addEventListener("keydown", (event) => {
        const leap = {ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -every.length, End: every.length}[event.key];
        if (!leap) return;
        event.preventDefault();
        point(Math.min(every.length - 1, Math.max(0, (at < 0 ? every.length - 1 : at) + leap)));
    });
    return redraw;
}

function lastOf(s) {
    let j = s.y.length - 1;
    while (j > 0 && !is(s.y[j])) j--;
    return j;
}

function lineOf(s, x, y) {
    const line = drawn("path", {class: "line s" + s.look % 8 + (s.thin ? " thin" : ""), d: pathOf(s.x, s.y, x.place, y.place)});
    if (s.dashes) line.setAttribute("stroke-dasharray", s.dashes);
    return line;
}

function swatch(s) {
    const line = drawn("path", {class: "line s" + s.look % 8, d: "M2 6h20"});
    if (s.dashes) line.setAttribute("stroke-dasharray", s.dashes);
    return drawn("svg", {class: "pic swatch", width: 24, height: 12, "aria-hidden": "true"}, line);
}

function mergedSteps(series) {
    return [...new Set(series.flatMap((s) => s.x))].sort((a, b) => a - b);
}

/* --- the same as a table, made when it is opened --- */

const mostRows = 500;

function tableOf(options, series) {
    const details = make("details", {class: "table"}, make("summary", {}, "As a table"));
    details.addEventListener("toggle", () => {
        if (details.open && details.children.length === 1) details.append(fillTable(options, series));
    });
    return details;
}

function fillTable(options, series) {
    const every = mergedSteps(series), stride = Math.ceil(every.length / mostRows);
    const head = make("tr", {}, make("th", {scope: "col"}, "step"));
    for (const s of series) head.append(make("th", {scope: "col"}, s.name));
    const body = make("tbody");
    const values = series.map((s) => new Map(s.x.map((step, k) => [step, s.y[k]])));
    every.forEach((step, k) => {
        if (k % stride !== 0 && k !== every.length - 1) return;
        const row = make("tr", {}, make("th", {scope: "row"}, count(step)));
        for (const v of values) row.append(make("td", {}, v.has(step) ? figure(v.get(step), options.digits) : ""));
        body.append(row);
    });
    const table = make("table", {}, make("caption", {}, options.title + ", " + options.yWords +
        (stride > 1 ? `; every ${stride}th of ${count(every.length)} steps` : "")), make("thead", {}, head), body);
    return make("div", {class: "wide", tabindex: "0", role: "region", "aria-label": options.title + " as a table"}, table);
}

/* --- the curves of training --- */

const curve = (name, pair, look, more) => Object.assign({name, x: pair[0], y: pair[1], look}, more);

function setUpCurves() {
    const c = data.curves, e = data.evals, per = "nats per " + data.model.unit;
    const levels = [{name: "guessing all alike: ln " + data.model.vocab_size, y: data.uniform}];
    if (data.entropy.known && is(data.entropy.validation))
        levels.push({name: "true entropy of the validation text", y: data.entropy.validation});
    chart("loss-chart", {
        title: "Loss", yWords: per, digits: 4, height: 340, levels,
        series: [curve("batch", c.loss, 4, {thin: true}), curve("training", e.train, 0, {}),
                 curve("validation", e.validation, 1, {dashes: "7 4"}),
                 curve("as it writes", e.generation, 2, {dashes: "2 4"})],
    });
    chart("lr-chart", {title: "Learning rate", yWords: "per update", digits: 3, height: 210, least: [0, 0],
                       series: [curve("learning rate", c.lr, 0, {})]});
    chart("grad-chart", {title: "Gradient norm", yWords: "before clipping", digits: 3, height: 210, least: [0, 0],
                         series: [curve("gradient norm", c.grad_norm, 1, {thin: true})]});
    chart("rate-chart", {title: "Rate", yWords: "symbols per second", digits: 3, height: 210, least: [0, 0],
                         series: [curve("rate", c.tokens_per_s, 2, {thin: true})]});
    $("curves-note").textContent = curvesNote();
}

function curvesNote() {
    if (data.log.records === 0)
        return data.run.imported ? "This model was imported: there is no log of its training." : "There is no log of training here.";
    const notes = [];
    if (data.thinned.steps > 1)
        notes.push(`Of each ${count(data.thinned.steps)} neighbouring records the lowest and the highest are drawn: no spike is lost.`);
    if (data.evals.generation[1].some(is))
        notes.push("“As it writes” is the loss of the first " + Math.min(64, data.model.block_size) + " " + data.model.units + " of a few windows of the " +
                   "validation part, each predicted with nothing after it: there is less before them than elsewhere, so they are harder.");
    if (data.entropy.known) notes.push("The true entropy is known: nopeek corpus wrote the text.");
    if (data.log.unsound > 0) notes.push(`${data.log.unsound} lines of the log are no records, or out of order, and were left out.`);
    return notes.join(" ");
}
