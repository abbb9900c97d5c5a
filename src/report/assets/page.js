/* The rest of the page, and its beginning: what is seen first is drawn first. */

function setUpVerdict() {
    const run = data.run, root = $("verdict"), check = run.check;
    const clean = check && check.startsWith("no leak");
    const words = run.leaky ? "Trained with a leak" : clean ? "No leak found" : check ? "A leak was found" : "Not checked";
    root.append(make("p", {class: "verdict " + (run.leaky || (check && !clean) ? "bad" : clean ? "good" : "faint")}, words));
    if (run.leaky) root.append(make("p", {}, "Symbols saw the ones after them while it was trained: its losses mean nothing."));
    if (check) root.append(make("p", {}, `Step ${count(run.check_step)}: ${visible(check)}`));
    else root.append(make("p", {}, "Nothing says whether this model sees its future: nopeek check finds out."));
    const alone = data.evals.generation[1], together = data.evals.parallel[1], last = lastOf({y: alone});
    if (is(alone[last]) && is(together[last]))
        root.append(make("p", {}, `As it writes, with nothing after each symbol, its loss is ${alone[last].toFixed(4)}; on the same symbols in whole windows ` +
            `${together[last].toFixed(4)}. ` + (Math.abs(alone[last] - together[last]) < 1e-3 ? "They are the same: nothing is peeked at."
                : "They differ: what whole windows show it is not there when it writes.")));
    if (data.entropy.known && is(data.entropy.validation))
        root.append(make("p", {}, `The true entropy of the validation text is ${figure(data.entropy.validation, 4)} nats per ${data.model.unit}: ` +
            "no model that does not peek can be expected to lose less on it."));
}

function setUpSamples() {
    const s = data.samples, root = $("samples");
    if (s.shown.length === 0) {
        root.append(make("p", {class: "faint"}, "The log has no samples."));
        return;
    }
    if (s.shown.length < s.seen) root.append(make("p", {class: "faint"}, `${s.shown.length} of ${count(s.seen)} samples, evenly spread, and the last.`));
    const latest = [...s.shown].reverse(), few = latest.slice(0, 6), more = latest.slice(6);
    root.append(make("div", {class: "columns"}, ...few.map(sampleOf)));
    if (more.length > 0)
        root.append(make("details", {}, make("summary", {}, `${more.length} earlier ${more.length === 1 ? "one" : "ones"}, back to step ${count(more[more.length - 1].step)}`),
                         make("div", {class: "columns"}, ...more.map(sampleOf))));
}

function sampleOf(sample) {
    return make("article", {class: "sample", "data-step": sample.step}, make("h3", {}, "step " + count(sample.step)),
        make("pre", sample.text.length > 600 ? {tabindex: "0"} : {}, visible(sample.text)),
        sample.left_out > 0 ? make("p", {class: "faint"}, `${count(sample.left_out)} bytes more are left out.`) : null);
}

function row(name, value, note) {
    return make("tr", {}, make("th", {scope: "row"}, name), make("td", {}, visible(value)), make("td", {class: "faint"}, note || ""));
}

function setUpSettings() {
    const m = data.model, r = data.run, body = make("tbody");
    body.append(row("model", `${m.n_layer} ${m.n_layer === 1 ? "layer" : "layers"} of ${m.n_head} ${m.n_head === 1 ? "head" : "heads"} of ${m.head_size}, ${m.n_embd} channels, context ${m.block_size}`,
                    count(m.parameters) + " parameters"),
                row("vocabulary", `${count(m.vocab_size)} ${m.units}`));
    if (r.text && r.text.paths.length) body.append(row("text", r.text.paths.join(" "), `${count(r.text.symbols)} ${m.units}, hash ${r.text.hash}`));
    if (r.imported) body.append(row("imported from", r.imported));
    if (r.best_step !== null) body.append(row("best", `step ${count(r.best_step)}`, `validation loss ${figure(r.best_loss, 5)}`));
    for (const [name, value, help] of data.settings) body.append(row(name, value === null ? "none" : String(value), help));
    $("settings").append(make("div", {class: "wide", tabindex: "0", role: "region", "aria-label": "Settings"}, make("table", {class: "settings"}, body)));
}

function setUpReproduce() {
    const root = $("reproduce");
    if (!data.reproduce) {
        root.append(make("p", {class: "faint"}, "The checkpoint does not say how it was made."));
        return;
    }
    const line = make("pre", {tabindex: "0"}, visible(data.reproduce)), button = make("button", {type: "button"}, "Copy");
    button.addEventListener("click", async () => {
        try {
            await navigator.clipboard.writeText(data.reproduce);
            button.textContent = "Copied";
        } catch (error) { /* not allowed here: marked, so that the keys copy it */
            getSelection().selectAllChildren(line);
            button.textContent = "Marked: copy it now";
        }
    });
    root.append(make("p", {}, data.run.imported ? "The same model again, from the folder it came from:"
        : "The same run again, from the folder where it was started: the same bits with the same version on a machine of the same kind. " +
          "Whether it began with another run's weights (--init-from) is not written down."), line, button);
}

/* --- a page that follows its run --- */

function follow() {
    if (!data.run.watching) return;
    $("live").hidden = false;
    $("live").textContent = "Following the run: this page loads itself again every few seconds, and keeps what you chose.";
    let touched = 0;
    for (const kind of ["pointerdown", "pointermove", "keydown", "wheel"])
        addEventListener(kind, () => { touched = Date.now(); }, {passive: true});
    addEventListener("pagehide", () => store("scroll", scrollY));
    setInterval(() => {
        if (document.visibilityState === "visible" && !playing && Date.now() - touched > 2000) location.reload();
    }, 4000);
}

function keepPlace() {
    const place = Number(stored("scroll"));
    if (data.run.watching && place > 0) scrollTo(0, place);
}

function setUpFoot() {
    $("foot").textContent = `Written by ${data.program} from ${visible(data.run.checkpoint)}. It needs no network and sends nothing.`;
}

recall();
setUpTheme();
setUpCurves();
setUpHeads();
setUpVerdict();
setUpSamples();
setUpSettings();
setUpReproduce();
setUpFoot();
/* The maps are many numbers: after the first paint. */
requestAnimationFrame(() => setTimeout(() => {
    setUpExplorer();
    keepPlace();
    follow();
    document.documentElement.dataset.ready = "yes";
}, 0));
