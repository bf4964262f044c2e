// The brush on the time axis: a range that is selected by pointer or keys, and what to do with it.

const DRAG_PX = 3; // less is a click

// The bin and the strip under the keys; bin -1: none. anchor: where the range began, in ns.
const brush = { bin: -1, strip: 0, anchor: 0, dragging: false };

// A time that reads well: the largest power of ten that is no longer than a bin divides it.
function roundTime(ns) {
	const unit = 10 ** Math.floor(Math.log10(Math.max(1, profile.timeline.binNs)));

	return Math.max(0, Math.min(profile.timeline.spanNs, Math.round(ns / unit) * unit));
}

// The range in the address; null: there is none, or it is no part of the time.
function rangeOf(text) {
	const found = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(text ?? "");

	if (!found || !profile.timeline)
		return null;
	const [from, to] = found.slice(1).map((seconds) => Math.round(Number(seconds) * 1e9));

	return from < to && from < profile.timeline.spanNs ? [from, Math.min(to, profile.timeline.spanNs)] : null;
}

// A word that shells leave as it is, and that is no option.
const shellWord = (text) => /^[\w@%+=:,./-]+$/.test(text) ? text.replace(/^-/, "./-") : `'${text.replace(/^-/, "./-").replaceAll("'", "'\\''")}'`;

function commandsOf([from, to]) {
	const path = profile.timeline.path.replace(/(.)\/profile\.db$/, "$1") || "PROFILE";

	return `flamegrid timeline ${shellWord(path)} --from ${secondsText(from)}s --to ${secondsText(to)}s --format profile -o part\n` +
		"flamegrid report part --open";
}

// `flamegrid serve` makes the page of a range when it is asked for. It has this address.
const isServed = () => /^https?:$/.test(location.protocol) && /^\/p\/[0-9a-f]{16}\/$/.test(location.pathname);

// A page of a range says so, and leads back.
function showPart() {
	const asked = new URLSearchParams(location.search), isPart = isServed() && asked.has("from") && asked.has("to");

	$("part").hidden = !isPart;
	if (!isPart)
		return;
	const back = element("a", "Page of the whole profile"), [from, to] = ["from", "to"].map((name) => Number(asked.get(name)));
	back.href = `${location.pathname}#time=${secondsText(from)}-${secondsText(to)}`;
	$("part").replaceChildren(`This page has the GPU work that began between ${secondsText(from)} s and ${secondsText(to)} s of the profile. `, back);
}

function showRange() {
	const { range } = choice;

	$("range").hidden = !range;
	if (range) {
		const [from, to] = range, { devices } = profile.timeline, steps = stepsText(from, to);
		const all = devices.map((_, strip) => sharesOf(strip, binAt(from), Math.max(binAt(from), binAt(to - 1))));
		const mean = TIME_PARTS.map((_, part) => all.reduce((sum, shares) => sum + shares[part], 0) / devices.length);

		$("range-what").textContent = `${secondsText(from)} s to ${secondsText(to)} s: ${timeText(to - from)}${steps && `, ${steps}`}; ` +
			`${devices.length === 1 ? "" : "mean of the GPUs: "}${sharesText(mean)}`;
		$("range-commands").textContent = commandsOf(range);
		$("range-commands").hidden = $("range-copy").hidden = isServed();
		$("range-page").hidden = !isServed();
		$("range-page").href = `?from=${from}&to=${to}`;
	}
	drawTimes();
}

function selectRange(from, to) {
	const range = [from, to].map(roundTime).sort((a, b) => a - b);

	choice.range = range[0] < range[1] ? range : null;
	showRange();
	saveState();
}

function drawBrush(draw, height) {
	const { range } = choice, { binNs } = profile.timeline;

	if (range) {
		const left = xOfTime(range[0]), right = Math.max(left + 1, xOfTime(range[1]));

		draw.globalAlpha = 0.22;
		draw.fillStyle = theme.accent;
		draw.fillRect(left, 0, right - left, height);
		draw.globalAlpha = 1;
		draw.fillRect(left, 0, 1, height);
		draw.fillRect(right - 1, 0, 1, height);
	}
	if (brush.bin >= 0 && document.activeElement === axisCanvas) {
		draw.strokeStyle = theme.accent;
		draw.lineWidth = 2;
		draw.strokeRect(xOfTime(brush.bin * binNs) - 1, stripsTop() + (brush.strip - painted.first) * STRIP_PX - 1,
			Math.max(3, xOfTime(binNs) - painted.left + 2), STRIP_PX);
	}
}

// ---- Pointer ----

function showTimeTip(event) {
	const tip = $("tip"), { timeline } = profile, strip = Math.floor((event.offsetY - stripsTop()) / STRIP_PX) + painted.first;

	tip.hidden = event.pointerType !== "mouse" || event.offsetX < painted.left;
	if (tip.hidden)
		return;
	const ns = timeOfX(event.offsetX), isStrip = event.offsetY >= stripsTop() && strip < timeline.devices.length;

	tip.firstElementChild.textContent = [`${secondsText(roundTime(ns))} s`, stepText(ns)].filter((text) => text).join(" · ");
	tip.lastElementChild.textContent = isStrip ? `${timeline.devices[strip][0]}: ${sharesText(sharesOf(strip, binAt(ns), binAt(ns)))}` : "";
	placeTip(tip, event);
}

function listenToBrush() {
	let beginX = 0;

	axisCanvas.addEventListener("pointerdown", (event) => {
		if (event.button !== 0 || event.offsetX < painted.left)
			return;
		beginX = event.offsetX;
		brush.dragging = true;
		brush.anchor = timeOfX(event.offsetX);
		axisCanvas.setPointerCapture(event.pointerId);
	});
	axisCanvas.addEventListener("pointermove", (event) => {
		showTimeTip(event);
		if (brush.dragging && Math.abs(event.offsetX - beginX) >= DRAG_PX)
			selectRange(brush.anchor, timeOfX(event.offsetX));
	});
	axisCanvas.addEventListener("pointerup", (event) => {
		if (brush.dragging && Math.abs(event.offsetX - beginX) < DRAG_PX) {
			brush.bin = binAt(timeOfX(event.offsetX));
			brush.strip = Math.max(0, Math.min(profile.timeline.devices.length - 1,
				Math.floor((event.offsetY - stripsTop()) / STRIP_PX) + painted.first));
			clearRange();
		}
		brush.dragging = false;
	});
	axisCanvas.addEventListener("pointercancel", () => (brush.dragging = false));
	axisCanvas.addEventListener("pointerleave", () => ($("tip").hidden = true));
}

// ---- Keys ----

function clearRange() {
	choice.range = null;
	showRange();
	saveState();
}

function announceBin() {
	const { timeline } = profile, { bin, strip } = brush;

	$("live").textContent = [`${secondsText(bin * timeline.binNs)} s`, stepText(bin * timeline.binNs), timeline.devices[strip][0],
		sharesText(sharesOf(strip, bin, bin)), choice.range && $("range-what").textContent].filter((text) => text).join(", ");
}

// Moves to a bin. With Shift the range goes from where Shift was first pressed to the end of the bin.
function moveTo(bin, extends_) {
	const { bins, binNs, spanNs } = profile.timeline, before = Math.max(0, brush.bin);

	brush.bin = Math.max(0, Math.min(bins - 1, bin));
	if (extends_) {
		if (!choice.range)
			brush.anchor = before * binNs;
		selectRange(brush.anchor, brush.bin * binNs >= brush.anchor ? Math.min(spanNs, (brush.bin + 1) * binNs) : brush.bin * binNs);
	}
}

function moveStrip(step) {
	const shown = Math.round((painted.height - stripsTop()) / STRIP_PX);

	brush.bin = Math.max(0, brush.bin);
	brush.strip = Math.max(0, Math.min(profile.timeline.devices.length - 1, brush.strip + step));
	if (brush.strip < painted.first || brush.strip >= painted.first + shown)
		strips.scrollTop = Math.max(0, brush.strip < painted.first ? brush.strip : brush.strip - shown + 1) * STRIP_PX;
}

function onAxisKey(event) {
	const { bins } = profile.timeline, many = Math.max(1, Math.round(bins / 20));
	const actions = { ArrowLeft: () => moveTo(brush.bin - 1, event.shiftKey), ArrowRight: () => moveTo(brush.bin + 1, event.shiftKey),
		PageUp: () => moveTo(brush.bin - many, event.shiftKey), PageDown: () => moveTo(brush.bin + many, event.shiftKey),
		Home: () => moveTo(0, event.shiftKey), End: () => moveTo(bins - 1, event.shiftKey),
		ArrowUp: () => moveStrip(-1), ArrowDown: () => moveStrip(1), Escape: clearRange };

	if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey)
		return;
	event.preventDefault();
	event.stopPropagation(); // the graph has such keys, too
	actions[event.key]();
	drawTimes();
	announceBin();
}

async function copyCommands() {
	try {
		await navigator.clipboard.writeText($("range-commands").textContent);
		say("Commands copied.");
	} catch {
		getSelection().selectAllChildren($("range-commands"));
		say("Copy the selected commands.");
	}
}

function listenToTimes() {
	if (!profile.timeline)
		return;
	listenToBrush();
	axisCanvas.addEventListener("keydown", onAxisKey);
	axisCanvas.addEventListener("focus", drawTimes);
	axisCanvas.addEventListener("blur", drawTimes);
	strips.addEventListener("scroll", drawTimes, { passive: true });
	$("range-clear").addEventListener("click", () => {
		clearRange();
		axisCanvas.focus({ preventScroll: true });
	});
	$("range-copy").addEventListener("click", copyCommands);
	new ResizeObserver(() => printing || drawTimes()).observe(strips);
	drawTimes();
}
