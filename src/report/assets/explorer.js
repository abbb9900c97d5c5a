/* The attention explorer. A frame is what every head looks at in one text after some step; a symbol is chosen by the
 * pointer, by a tap or by the arrow keys, and what it looks at is shown in the text, in numbers and in the map. */

const film = data.film, T = film.labels.length;
let packed = null;       /* the frames' weights as they came, read when first needed */
const unpacked = [];     /* the same as numbers, by frame */
let hovered = -1;        /* a symbol under the pointer, before it is chosen */

function weightsOf(frame) {
    if (unpacked[frame]) return unpacked[frame];
    packed = packed || JSON.parse($("frames").textContent);
    const bytes = atob(packed[frame]), n = bytes.length / 4, view = new DataView(new ArrayBuffer(bytes.length));
    for (let k = 0; k < bytes.length; k++) view.setUint8(k, bytes.charCodeAt(k));
    const numbers = new Float32Array(n);
    for (let k = 0; k < n; k++) numbers[k] = view.getFloat32(4 * k, true);
    unpacked[frame] = numbers;
    return numbers;
}

/* What symbol i looks at in symbol j; 0 beyond the diagonal of a frame that has nothing there. */
function weight(frame, k, i, j) {
    const square = film.frames[frame].square, of = weightsOf(frame);
    if (square) return of[(k * T + i) * T + j];
    return j > i ? 0 : of[k * (T * (T + 1) / 2) + i * (i + 1) / 2 + j];
}

const keysOf = (frame, i) => (film.frames[frame].square ? T : i + 1);
const stepName = (frame) => (film.frames[frame] ? "step " + count(film.frames[frame].step) : "");
const current = () => chosen.layer * H + chosen.head;
const shown = () => (hovered >= 0 ? hovered : chosen.symbol);

function kindWords(k) {
    const kind = data.kinds.heads && data.kinds.heads[k];
    return kind ? ` · ${kind.kind}: ${kind.says}` : "";
}

/* A whole map as a small picture. */
function thumbnail(frame, k, colours) {
    return pixels(T, T, (j, i) => (j > i ? colours.future : colours.past)[level(weight(frame, k, i, j))]);
}

/* --- building it --- */

function setUpExplorer() {
    const root = $("explorer");
    if (T === 0 || film.frames.length === 0) {
        root.append(make("p", {class: "note"}, "There is no attention to show: " + (visible(film.why_not) || "nothing was recorded") +
            ". With nopeek report --text, the checkpoints are asked about a text of yours."));
        return;
    }
    root.append(make("p", {}, "Point at a character, tap it, or move with the arrow keys: the stronger the colour of another, the more " +
            "of its attention goes there. A row's weights sum to 1."),
        controls(), make("p", {id: "kind", "aria-live": "polite"}),
        make("div", {class: "pair"},
            make("div", {}, make("div", {id: "characters", role: "listbox", tabindex: "0", "aria-label": "The text: choose a character"}, ...symbols()),
                make("p", {id: "looks", class: "readout", "aria-live": "polite"}), make("ul", {id: "weights", tabindex: "0", "aria-label": "What it looks at, most first"})),
            mapFigure()),
        make("h3", {}, "Every head ", make("span", {class: "faint", id: "minis-step"})), make("div", {id: "minis"}, ...minis()),
        make("h3", {}, "The chosen head over time ", make("button", {id: "play", type: "button"}, "Play")),
        make("div", {id: "film", tabindex: "0", role: "listbox", "aria-label": "Frames of the film: arrow keys move"}, ...frames()),
        make("p", {class: "faint"}, filmNote()));
    followers.push(drawExplorer);
    painters.push(() => drawExplorer({layer: 0, frame: 0, symbol: 0}));
    setUpSymbols();
    setUpMap();
    setUpFilm();
    drawExplorer({layer: 0, frame: 0, symbol: 0});
}

function controls() {
    const pick = (id, name, n, label) => {
        const select = make("select", {id});
        for (let k = 0; k < n; k++) select.append(make("option", {value: label(k)[0]}, label(k)[1]));
        return make("label", {for: id}, name + " ", select);
    };
    const bar = make("div", {class: "controls"}, pick("layer", "Layer", L, (k) => [k, k]), pick("head", "Head", H, (k) => [k, k]),
                     pick("step", "Step", film.frames.length, (k) => [film.frames[k].step, count(film.frames[k].step)]));
    bar.addEventListener("change", (event) => {
        const value = Number(event.target.value);
        if (event.target.id === "step") choose({frame: film.frames.findIndex((f) => f.step === value)});
        else choose({[event.target.id]: value});
    });
    return bar;
}

/* A line ends where the text's own lines do. */
function symbols() {
    const row = [];
    film.labels.forEach((label, i) => {
        row.push(make("span", {class: "char" + (label.length > 2 && [...label].length > 1 ? " wide-char" : ""), "data-i": i, role: "option",
                               id: "char-" + i, "aria-label": `${visible(label)}, position ${i}`}, visible(label)));
        if (label === "\\n") row.push(make("br"));
    });
    return row;
}

function mapFigure() {
    return make("figure", {class: "map"}, make("figcaption", {class: "faint"}, "A row looks, a column is looked at" + (T > 40 ? "; numbers are positions in the text." : ".")),
                make("canvas", {id: "map", role: "img", "aria-label": "Map of the chosen head: what each character looks at"}),
                make("p", {id: "map-readout", class: "readout"}));
}

function minis() {
    return Array.from({length: L * H}, (_, k) =>
        make("button", {type: "button", class: "mini", "data-head": k, title: headName(k) + kindWords(k)},
             make("canvas", {"aria-hidden": "true"}), make("span", {}, headShort(k))));
}

function frames() {
    return film.frames.map((f, k) => make("div", {class: "frame", role: "option", "data-step": f.step, "data-frame": k, id: "frame-" + k},
                                          make("canvas", {"aria-hidden": "true"}), make("span", {}, count(f.step))));
}

function filmNote() {
    const notes = [film.from_log ? "Recorded by training at its evaluations, of the beginning of the validation part."
        : "Worked out from the checkpoints that were kept (nopeek train --keep says how many)."];
    if (film.frames.length < film.steps) notes.push(`${film.frames.length} of ${count(film.steps)} are shown, evenly spread.`);
    if (film.before > 0) notes.push(`The text is too long for a page: ${count(film.before)} ${data.model.units} before these are left out.`);
    notes.push("Weights are whole fp32 numbers, the ones that nopeek inspect gives for this text; three digits are shown.");
    if (data.kinds.heads) notes.push(`Kinds of heads are measured on ${count(data.kinds.windows)} windows of ${data.kinds.window_length} ` +
        `${data.model.units} of ${data.kinds.validation ? "the validation part" : "the text"}, with the latest checkpoint.`);
    else if (data.kinds.why_not) notes.push(`Kinds of heads: ${visible(data.kinds.why_not)}.`);
    return notes.join(" ");
}

/* --- drawing it: what changed says how much --- */

function drawExplorer(change) {
    const head = "layer" in change || "head" in change, frame = "frame" in change;
    $("layer").value = chosen.layer;
    $("head").value = chosen.head;
    $("step").value = film.frames[chosen.frame].step;
    if (head || frame) drawKind();
    if (frame) drawMinis();
    if (head) drawFilm();
    if (head || frame) markChosen();
    drawSymbol(head || frame);
}

function drawKind() {
    const k = current(), kind = data.kinds.heads && data.kinds.heads[k];
    $("kind").replaceChildren(make("b", {}, headName(k)), `, ${stepName(chosen.frame)}`,
        kind ? make("span", {}, " · with the latest checkpoint ", make("b", {}, kind.kind), `: it ${kind.says} · ${kind.evidence}`) : "");
}

function paintThumbnail(canvas, frame, k, size, colours) {
    const pen = prepare(canvas, size, size);
    pen.imageSmoothingEnabled = T > size; /* several symbols a pixel */
    pen.drawImage(thumbnail(frame, k, colours), 0, 0, size, size);
}

const leastMini = 32; /* pixels, so that "11.11" below is whole */
let miniSize = 0;

/* A row a layer, where a row holds so many that can be seen. */
function sizeMinis() {
    const room = $("minis").clientWidth / H - 14, size = Math.round(Math.max(leastMini, Math.min(112, room, 620 / L - 22)));
    if (size === miniSize) return;
    miniSize = size;
    $("minis").style.gridTemplateColumns = room >= leastMini ? `repeat(${H}, ${size + 8}px)` : `repeat(auto-fill, ${size + 8}px)`;
    drawMinis();
}

function drawMinis() {
    if (miniSize === 0) return;
    const colours = weightColours();
    $("minis-step").textContent = "after " + stepName(chosen.frame);
    for (const mini of $("minis").children) paintThumbnail(mini.firstChild, chosen.frame, Number(mini.dataset.head), miniSize, colours);
}

function drawFilm() {
    const colours = weightColours();
    for (const frame of $("film").children) paintThumbnail(frame.firstChild, Number(frame.dataset.frame), current(), 84, colours);
}

function markChosen() {
    for (const mini of $("minis").children) mini.setAttribute("aria-pressed", Number(mini.dataset.head) === current());
    for (const frame of $("film").children) {
        const here = Number(frame.dataset.frame) === chosen.frame;
        frame.setAttribute("aria-selected", here);
        if (here) {
            $("film").setAttribute("aria-activedescendant", frame.id);
            const strip = $("film"); /* not scrollIntoView, which would move the page */
            strip.scrollLeft = frame.offsetLeft - strip.offsetLeft - (strip.clientWidth - frame.clientWidth) / 2;
        }
    }
}

function drawSymbol(whole) {
    const i = shown(), k = current(), tint = channels(colour("tint")), past = channels(colour("s0")), future = channels(colour("s1"));
    for (const char of $("characters").querySelectorAll(".char")) {
        const j = Number(char.dataset.i), w = weight(chosen.frame, k, i, j), strength = Math.sqrt(Math.min(1, Math.max(0, w)));
        const ground = w > 0 ? blend(tint, j > i ? future : past, strength) : null;
        char.style.background = ground ? css(ground) : "";
        char.style.color = ground ? readable(ground) : "";
        char.classList.toggle("looks", j === i);
        char.classList.toggle("unseen", j >= keysOf(chosen.frame, i));
        char.setAttribute("aria-selected", j === i);
        char.title = `${visible(film.labels[j])} (${j}): ${figure(w, 3)}`;
    }
    $("characters").setAttribute("aria-activedescendant", "char-" + i);
    listWeights(i, k);
    drawMap(whole, i);
}

function listWeights(i, k) {
    const keys = Array.from({length: keysOf(chosen.frame, i)}, (_, j) => ({j, w: weight(chosen.frame, k, i, j)}));
    keys.sort((a, b) => b.w - a.w || b.j - a.j);
    const most = keys[0].w || 1;
    $("looks").replaceChildren(make("b", {}, visible(film.labels[i])), ` at ${i} looks at `, make("b", {}, visible(film.labels[keys[0].j])),
        ` at ${keys[0].j} the most, `, make("b", {}, figure(keys[0].w, 3)), ` of 1; ${keys.length} ${keys.length === 1 ? "key" : "keys"} in all`);
    $("weights").replaceChildren(...keys.map(({j, w}) => {
        const bar = make("span", {class: "fill" + (j > i ? " future" : "")});
        bar.style.width = Math.max(0, w / most * 100) + "%";
        return make("li", {class: "weight", "data-j": j, "data-weight": w}, make("span", {class: "key"}, visible(film.labels[j])),
                    make("span", {class: "faint place"}, j), make("span", {class: "track"}, bar), make("span", {class: "number"}, w === 0 ? "0" : w < 5e-4 ? "<0.001" : w.toFixed(3)));
    }));
}

/* --- the map --- */

let mapPicture = null; /* of the chosen head and frame */
const mapEdge = 24;    /* for names or numbers above and left of it, in pixels */

function drawMap(whole, i) {
    const canvas = $("map"), size = Math.min(420, canvas.parentElement.clientWidth || 320), edge = mapEdge;
    if (whole || !mapPicture) mapPicture = thumbnail(chosen.frame, current(), weightColours());
    const pen = prepare(canvas, size, size), cell = (size - edge) / T;
    pen.clearRect(0, 0, size, size);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(mapPicture, edge, edge, size - edge, size - edge);
    pen.strokeStyle = colour("ink");
    pen.lineWidth = 1.5;
    pen.strokeRect(edge, edge + i * cell, Math.min(size - edge, cell * keysOf(chosen.frame, i)), cell);
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    if (T <= 40) nameSymbols(pen, cell, i);
    else numberPositions(pen, cell);
}

function nameSymbols(pen, cell, i) {
    pen.font = `${Math.max(7, Math.min(12, cell))}px ui-monospace, monospace`;
    for (let j = 0; j < T; j++) {
        pen.fillStyle = colour(j === i ? "ink" : "faint");
        const label = [...visible(film.labels[j])].slice(0, 2).join("");
        pen.fillText(label, mapEdge + (j + 0.5) * cell, mapEdge / 2);
        pen.fillText(label, mapEdge / 2, mapEdge + (j + 0.5) * cell);
    }
}

/* Of more than can be named side by side. */
function numberPositions(pen, cell) {
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = colour("faint");
    for (const j of ticksBetween(0, T - 1, 7)) {
        pen.fillText(j, mapEdge + (j + 0.5) * cell, mapEdge / 2);
        pen.fillText(j, mapEdge / 2, mapEdge + (j + 0.5) * cell);
    }
}

function setUpMap() {
    const canvas = $("map"), under = (event) => {
        const box = canvas.getBoundingClientRect(), edge = mapEdge, cell = (box.width - edge) / T;
        const at = (offset) => Math.floor((offset - edge) / cell);
        const i = at(event.clientY - box.top), j = at(event.clientX - box.left);
        return i >= 0 && i < T && j >= 0 && j < T ? {i, j} : null;
    };
    canvas.addEventListener("pointermove", (event) => {
        const there = under(event);
        if (!there) return;
        $("map-readout").textContent = `${visible(film.labels[there.i])} at ${there.i} looks at ${visible(film.labels[there.j])} at ${there.j}: ` +
            (there.j >= keysOf(chosen.frame, there.i) ? "the future, 0" : figure(weight(chosen.frame, current(), there.i, there.j), 3));
        hover(there.i);
    });
    canvas.addEventListener("pointerleave", () => {
        $("map-readout").textContent = "";
        hover(-1);
    });
    canvas.addEventListener("click", (event) => {
        const there = under(event);
        if (there) choose({symbol: there.i});
    });
    whenResized(canvas.parentElement, () => drawMap(false, shown()));
    whenResized($("minis"), sizeMinis);
}

/* --- choosing --- */

function hover(i) {
    if (i === hovered) return;
    hovered = i;
    drawSymbol(false);
}

function setUpSymbols() {
    const row = $("characters"), under = (event) => (event.target.closest ? event.target.closest(".char") : null);
    row.addEventListener("pointerover", (event) => {
        const char = under(event);
        if (char && event.pointerType !== "touch") hover(Number(char.dataset.i));
    });
    row.addEventListener("pointerleave", () => hover(-1));
    row.addEventListener("click", (event) => {
        const char = under(event);
        hovered = -1;
        if (char) choose({symbol: Number(char.dataset.i)});
    });
    row.addEventListener("keydown", (event) => {
        const leap = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -10, ArrowDown: 10, Home: -T, End: T}[event.key];
        if (!leap) return;
        event.preventDefault();
        hovered = -1;
        choose({symbol: Math.min(T - 1, Math.max(0, chosen.symbol + leap))});
    });
    $("minis").addEventListener("click", (event) => {
        const mini = event.target.closest(".mini");
        if (mini) choose({layer: Math.floor(mini.dataset.head / H), head: mini.dataset.head % H});
    });
    $("minis").addEventListener("keydown", (event) => {
        const leap = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -H, ArrowDown: H}[event.key], to = current() + leap;
        if (!leap || to < 0 || to >= L * H) return;
        event.preventDefault();
        choose({layer: Math.floor(to / H), head: to % H});
        $("minis").children[to].focus();
    });
}

/* --- the film --- */

let playing = null;

function stop() {
    clearInterval(playing);
    playing = null;
    $("play").textContent = "Play";
}

function play() {
    if (chosen.frame === film.frames.length - 1) choose({frame: 0});
    $("play").textContent = "Pause";
    playing = setInterval(() => {
        choose({frame: chosen.frame + 1});
        if (chosen.frame >= film.frames.length - 1) stop();
    }, matchMedia("(prefers-reduced-motion: reduce)").matches ? 1500 : 400);
}

function setUpFilm() {
    $("play").disabled = film.frames.length < 2;
    $("play").addEventListener("click", () => (playing ? stop() : play()));
    $("film").addEventListener("click", (event) => {
        const frame = event.target.closest(".frame");
        if (playing) stop();
        if (frame) choose({frame: Number(frame.dataset.frame)});
    });
    $("film").addEventListener("keydown", (event) => {
        const n = film.frames.length, leap = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1, Home: -n, End: n}[event.key];
        if (event.key === " ") (playing ? stop : play)();
        else if (!leap) return;
        event.preventDefault();
        if (leap) choose({frame: Math.min(n - 1, Math.max(0, chosen.frame + leap))});
    });
}
