"use strict";
/* The page's ground: its data, ways to put text and elements on it, colours, and what the reader has chosen. Text
 * reaches the page as text only, by textContent.
 *
 * Hooks that tests hold on to, and that stay: #loss-chart #lr-chart #grad-chart #rate-chart #entropy-map
 * #entropy-curves, each with a .plot that arrow keys move in and an .readout that says what is under the pointer;
 * #explorer with the selects #layer #head #step (values are numbers; of #step the step), .char[data-i] in #characters,
 * .weight[data-j][data-weight] in #weights (the weight as the very fp32 number), #map, .mini[data-head] in #minis,
 * .frame[data-step] in #film, #play; .said[data-step][data-verdict] in #head-verdicts, whose buttons choose a head; #verdict #samples #settings #reproduce #theme #live. */

const data = JSON.parse(document.getElementById("data").textContent);
const L = data.model.n_layer, H = data.model.n_head;

const $ = (id) => document.getElementById(id);

/* make("p", {class: "faint"}, "text", element, ...): a null child is none. */
function make(name, attributes, ...children) {
    return fill(document.createElement(name), attributes, children);
}

function drawn(name, attributes, ...children) {
    return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function fill(element, attributes, children) {
    for (const key in attributes || {}) element.setAttribute(key, attributes[key]);
    for (const child of children) if (child !== null && child !== undefined) element.append(child);
    return element;
}

/* --- words and numbers --- */

const several = new Intl.NumberFormat("en");
const count = (n) => several.format(n);
/* A number that can be drawn: of what is far beyond fp32, differences need not be finite, nor names fit an axis. */
const is = (x) => typeof x === "number" && Math.abs(x) <= 1e99;

/* With so many digits. */
function figure(x, digits) {
    if (!is(x)) return "–";
    if (x === 0) return "0";
    if (Math.abs(x) < 1e-3 || Math.abs(x) >= 1e6) return x.toExponential(Math.min(digits, 3) - 1);
    return Math.abs(x) >= Math.pow(10, digits - 1) ? count(Math.round(x)) : x.toPrecision(digits);
}

/* Characters that are not seen, or that turn the direction of writing, by their code points. */
const hiddenCharacters =
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff]/g;
const visible = (text) =>
    String(text).replace(hiddenCharacters, (c) =>
        "[U+" + c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0") + "]");

/* --- what the reader chose: kept in the address, so that a link or a reload shows the same --- */

const chosen = {layer: 0, head: 0, frame: Math.max(0, data.film.frames.length - 1), symbol: data.film.labels.length - 1};

/* Called when something was chosen: (what) => ..., for redrawing. */
const followers = [];

function choose(change) {
    Object.assign(chosen, change);
    remember();
    for (const follow of followers) follow(change);
}

function remember() {
    const frame = data.film.frames[chosen.frame], last = chosen.frame === data.film.frames.length - 1;
    const view = "#at-" + [chosen.layer, chosen.head, last ? "last" : frame ? frame.step : 0, chosen.symbol].join("-");
    try {
        history.replaceState(null, "", view);
    } catch (error) { /* an address that may not be changed: the view is not kept */ }
}

function recall() {
    const at = /^#at-(\d+)-(\d+)-(\d+|last)-(\d+)$/.exec(location.hash);
    if (!at) return;
    const [layer, head, step, symbol] = at.slice(1).map(Number);
    if (layer < L && head < H) Object.assign(chosen, {layer, head});
    /* While a run is followed, who looks at its last frame goes on looking at the last. */
    const frame = data.film.frames.findIndex((f) => f.step === step);
    if (frame >= 0) chosen.frame = frame;
    if (symbol < data.film.labels.length) chosen.symbol = symbol;
}

/* Storage that may be forbidden. */
function store(key, value) {
    try {
        sessionStorage.setItem("nopeek-" + key, value);
    } catch (error) { /* then it is forgotten */ }
}

function stored(key) {
    try {
        return sessionStorage.getItem("nopeek-" + key);
    } catch (error) {
        return null;
    }
}

/* --- colours --- */

const dark = matchMedia("(prefers-color-scheme: dark)");
const painters = []; /* called when colours change */

function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

/* "#abc" or "#aabbcc" as [r, g, b] */
function channels(hex) {
    const digits = hex.slice(1), wide = digits.length === 3 ? [...digits].map((d) => d + d).join("") : digits;
    return [0, 2, 4].map((k) => parseInt(wide.slice(k, k + 2), 16));
}

const blend = (a, b, share) => a.map((x, k) => Math.round(x + (b[k] - x) * share));

/* Cividis (Nuñez, Anderton and Renslow 2018): in the same order for readers who see no red or no green, and in grey. */
const cividis = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55",
                 "#fee838"].map(channels);

function scale(share) {
    const at = Math.min(1, Math.max(0, share)) * (cividis.length - 1), below = Math.min(cividis.length - 2, Math.floor(at));
    return blend(cividis[below], cividis[below + 1], at - below);
}

/* Black or white, whichever can be read on a colour: the contrast is at least 4.5 to 1 on any (WCAG 2.2, 1.4.3). */
function readable(c) {
    const [r, g, b] = c.map((v) => (v <= 10 ? v / 255 / 12.92 : Math.pow((v / 255 + 0.055) / 1.055, 2.4)));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff";
}

/* A weight's colour: from paper to full, by its square root as in `nopeek inspect`; the future in another. */
function weightColours() {
    const paper = channels(colour("tint"));
    return {past: ramp(paper, channels(colour("s0"))), future: ramp(paper, channels(colour("s1")))};
}

function ramp(from, to) {
    return Array.from({length: 256}, (_, k) => blend(from, to, Math.sqrt(k / 255)));
}

const level = (weight) => (weight > 0 ? Math.min(255, Math.max(1, Math.round(weight * 255))) : 0);

function setUpTheme() {
    const button = $("theme"), root = document.documentElement, order = ["auto", "light", "dark"];
    const show = (theme) => {
        if (theme === "auto") delete root.dataset.theme;
        else root.dataset.theme = theme;
        button.textContent = "Theme: " + theme;
        store("theme", theme);
        for (const paint of painters) paint();
    };
    button.hidden = false;
    button.title = "as the system has it, light, or dark";
    button.addEventListener("click", () => show(order[(order.indexOf(root.dataset.theme || "auto") + 1) % 3]));
    dark.addEventListener("change", () => painters.forEach((paint) => paint()));
    const before = stored("theme");
    show(order.includes(before) ? before : "auto");
}

/* --- canvases --- */

/* A canvas of so many CSS pixels, sharp on any screen; what is drawn counts in CSS pixels. */
function prepare(canvas, width, height) {
    const dense = Math.min(3, devicePixelRatio || 1);
    canvas.width = Math.max(1, Math.round(width * dense));
    canvas.height = Math.max(1, Math.round(height * dense));
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
    const pen = canvas.getContext("2d");
    pen.setTransform(canvas.width / width, 0, 0, canvas.height / height, 0, 0);
    return pen;
}

/* (columns, rows) pixels, colourOf(column, row) = [r, g, b], as a picture that drawImage takes. */
function pixels(columns, rows, colourOf) {
    const canvas = make("canvas", {width: columns, height: rows});
    const pen = canvas.getContext("2d"), image = pen.createImageData(columns, rows);
    for (let row = 0, at = 0; row < rows; row++)
        for (let column = 0; column < columns; column++, at += 4) {
            const c = colourOf(column, row);
            image.data[at] = c[0];
            image.data[at + 1] = c[1];
            image.data[at + 2] = c[2];
            image.data[at + 3] = 255;
        }
    pen.putImageData(image, 0, 0);
    return canvas;
}

/* After the browser has laid the page out, as what is drawn may change that again. */
function whenResized(element, act) {
    new ResizeObserver(() => requestAnimationFrame(act)).observe(element);
}

/* Draws again when the width of `element` changes, and when colours do. */
function keepDrawn(element, draw) {
    let width = 0;
    const redraw = () => {
        if (width > 0) draw(width);
    };
    whenResized(element, () => {
        const now = Math.floor(element.clientWidth);
        if (now === width) return;
        width = now;
        redraw();
    });
    painters.push(redraw);
    return redraw;
}
