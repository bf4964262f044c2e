// The brush on the time axis: a range that is selected by pointer or keys, and what to do with it.

const DRAG_PX = 3; // less is a click

// The bin and the strip under the keys; bin -1: none. anchor: where the range began, in ns.
const brush = { bin: -1, strip: 0, anchor: 0, dragging: false };

// A time that reads well: the largest power of ten that is no longer than a bin divides it.
function roundTime(ns) {
	const unit = 10 ** Math.floor(Math.log10(Math.max(1, profile.timeline.binNs)));

	return Math.max(profile.timeline.beginNs, Math.min(profile.timeline.endNs, Math.round(ns / unit) * unit));
}

// The range in the address; null: there is none, or it is no part of the time.
function rangeOf(text) {
	const found = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(text ?? "");

	if (!found || !profile.timeline)
		return null;
	const [from, to] = found.slice(1).map((seconds) => Math.round(Number(seconds) * 1e9));

	const { beginNs, endNs } = profile.timeline;

	return from < to && from < endNs && to > beginNs ? [Math.max(from, beginNs), Math.min(to, endNs)] : null;
}

// A word that shells leave as it is, and that is no option.
const shellWord = (text) => /^[\w@%+=:,./-]+$/.test(text) ? text.replace(/^-/, "./-") : `'${text.replace(/^-/, "./-").replaceAll("'", "'\\''")}'`;

const profileWord = () => shellWord(profile.timeline.path.replace(/(.)\/profile\.db$/, "$1") || "PROFILE");

function commandsOf([from, to]) {
	return `flamegrid timeline ${profileWord()} --from ${secondsText(from)}s --to ${secondsText(to)}s --format ` +
		(profile.timeline.isPart ? "html -o part.html" : "profile -o part\nflamegrid report part --open");
}

// `flamegrid serve` makes the page of a range when it is asked for. It has this address.
const isServed = () => /^https?:$/.test(location.protocol) && /^\/p\/[0-9a-f]{16}\/$/.test(location.pathname);

// ---- The page of a range ----

const LEVELS_MOST = 8; // that the address keeps

const wordOf = ([from, to]) => `${from}-${to}`;
const secondsOf = ([from, to]) => `${secondsText(from)} s to ${secondsText(to)} s`;

// The range that the page has, as its address or its axis says; null: it has the whole.
function partOf() {
	const asked = new URLSearchParams(location.search);

	if (isServed() && asked.has("from") && asked.has("to"))
		return ["from", "to"].map((name) => Number(asked.get(name)));
	return profile.timeline?.isPart ? [profile.timeline.beginNs, profile.timeline.endNs] : null;
}

// The ranges around it whose pages led here, the outermost first.
function levelsAbove() {
	const found = new URLSearchParams(location.search).get("within")?.match(/\d+-\d+/g) ?? [];

	return found.slice(-LEVELS_MOST).map((text) => text.split("-").map(Number));
}

function addressOf([from, to], within) {
	return `?from=${from}&to=${to}${within.length ? `&within=${within.slice(-LEVELS_MOST).map(wordOf).join(",")}` : ""}`;
}

// The links back select the range that the page has, or that led to it.
function showPart() {
	const part = partOf(), levels = isServed() ? levelsAbove() : [], parts = [];

	$("part").hidden = !part;
	if (!part)
		return;
	parts.push(`This page has the GPU work that ${profile.timeline?.byLaunch ? "was launched" : "began"} between ${secondsText(part[0])} s ` +
		`and ${secondsText(part[1])} s of the profile. `);
	if (isServed())
		[null, ...levels].forEach((level, i) => {
			const back = element("a", level ? secondsOf(level) : "Page of the whole profile"), inner = levels[i] ?? part;

			back.href = `${level ? addressOf(level, levels.slice(0, i - 1)) : location.pathname}#time=${inner.map(secondsText).join("-")}`;
			parts.push(...(i ? [" › ", back] : [back]));
		});
	else
		parts.push("The page of the whole: ", element("code", `flamegrid report ${profileWord()} --open`));
	$("part").replaceChildren(...parts);
}

function showRange() {
	const { range } = choice;

	$("range").hidden = !range;
	if (range) {
		const [from, to] = range, part = partOf(), { devices } = profile.timeline, steps = stepsText(from, to);
		const all = devices.map((_, strip) => sharesOf(strip, binAt(from), Math.max(binAt(from), binAt(to - 1))));
		const mean = TIME_PARTS.map((_, part) => all.reduce((sum, shares) => sum + shares[part], 0) / devices.length);

		$("range-what").textContent = `${secondsText(from)} s to ${secondsText(to)} s: ${timeText(to - from)}${steps && `, ${steps}`}; ` +
			`${devices.length === 1 ? "" : "mean of the GPUs: "}${sharesText(mean)}`;
		$("range-commands").textContent = commandsOf(range);
		$("range-commands").hidden = $("range-copy").hidden = isServed();
		$("range-page").hidden = !isServed();
		$("range-page").href = addressOf(range, part ? [...levelsAbove(), part] : []);
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
	const { range } = choice, { stripPx } = profile.timeline;

	if (range) {
		const left = xOfTime(range[0]), right = Math.max(left + 1, xOfTime(range[1]));

		draw.globalAlpha = 0.22;
		draw.fillStyle = theme.accent;
		draw.fillRect(left, 0, right - left, height);
		draw.globalAlpha = 1;
		draw.fillRect(left, 0, 1, height);
		draw.fillRect(right - 1, 0, 1, height);
	}
	if (brush.bin >= 0 && piece < 0 && document.activeElement === axisCanvas) {
		draw.strokeStyle = theme.accent;
		draw.lineWidth = 2;
		draw.strokeRect(xOfTime(timeOfBin(brush.bin)) - 1, stripsTop() + (brush.strip - painted.first) * stripPx - 1,
			Math.max(3, xOfTime(timeOfBin(brush.bin + 1)) - xOfTime(timeOfBin(brush.bin)) + 2), stripPx);
	}
	outlinePiece(draw);
}

// ---- Pointer ----

function showTimeTip(event) {
	const tip = $("tip"), { timeline } = profile, strip = Math.floor((event.offsetY - stripsTop()) / timeline.stripPx) + painted.first;

	tip.hidden = event.pointerType !== "mouse" || event.offsetX < painted.left;
	if (tip.hidden)
		return;
	const ns = timeOfX(event.offsetX), found = pieceAt(event.offsetX, event.offsetY), isStrip = event.offsetY >= stripsTop() && strip < timeline.devices.length;

	if (found >= 0) {
		tip.firstElementChild.textContent = nameOfPiece(timeline.boxes[found]);
		tip.lastElementChild.textContent = `${pieceText(timeline.boxes[found])}. ${stackOf(timeline.boxes[found]).slice(-3).reverse().map(visibleText).join(" ‹ ")}`;
		return placeTip(tip, event);
	}
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
				Math.floor((event.offsetY - stripsTop()) / profile.timeline.stripPx) + painted.first));
			piece = pieceAt(event.offsetX, event.offsetY);
			clearRange();
			showPiece();
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

	if (piece >= 0) {
		$("live").textContent = $("piece-what").textContent;
		return;
	}
	$("live").textContent = [`${secondsText(timeOfBin(bin))} s`, stepText(timeOfBin(bin)), timeline.devices[strip][0],
		sharesText(sharesOf(strip, bin, bin)), choice.range && $("range-what").textContent].filter((text) => text).join(", ");
}

// Moves to a bin. With Shift the range goes from where Shift was first pressed to the end of the bin.
function moveTo(bin, extends_) {
	const { bins } = profile.timeline, before = Math.max(0, brush.bin);

	brush.bin = Math.max(0, Math.min(bins - 1, bin));
	if (extends_) {
		if (!choice.range)
			brush.anchor = timeOfBin(before);
		selectRange(brush.anchor, timeOfBin(brush.bin) >= brush.anchor ? timeOfBin(brush.bin + 1) : timeOfBin(brush.bin));
	}
}

function moveStrip(step) {
	const { stripPx } = profile.timeline, shown = Math.round((painted.height - stripsTop()) / stripPx);

	brush.bin = Math.max(0, brush.bin);
	brush.strip = Math.max(0, Math.min(profile.timeline.devices.length - 1, brush.strip + step));
	if (brush.strip < painted.first || brush.strip >= painted.first + shown)
		strips.scrollTop = Math.max(0, brush.strip < painted.first ? brush.strip : brush.strip - shown + 1) * stripPx;
}

function onAxisKey(event) {
	const { bins, boxes } = profile.timeline, one = boxes.length && !event.shiftKey ? movePiece : (step) => moveTo(brush.bin + step, event.shiftKey);
	const many = Math.max(1, Math.round(bins / 20));
	const actions = { ArrowLeft: () => one(-1), ArrowRight: () => one(1),
		PageUp: () => moveTo(brush.bin - many, event.shiftKey), PageDown: () => moveTo(brush.bin + many, event.shiftKey),
		Home: () => moveTo(0, event.shiftKey), End: () => moveTo(bins - 1, event.shiftKey),
		ArrowUp: () => moveStrip(-1), ArrowDown: () => moveStrip(1), Enter: showPieceInGraph,
		Escape: () => {
			closePiece();
			clearRange();
		} };

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
	$("piece-show").addEventListener("click", showPieceInGraph);
	$("piece-close").addEventListener("click", () => {
		closePiece();
		axisCanvas.focus({ preventScroll: true });
	});
	new ResizeObserver(() => printing || drawTimes()).observe(strips);
	drawTimes();
}
