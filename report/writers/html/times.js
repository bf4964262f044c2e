// The time axis: what each device did over the time that the profile's timeline covers, or in the part of it that the page
// has, and when steps began. All times count from the profile's first event.

// As strip_bins.h has them, each with the class whose colour it has. What is left of a bin is idle time.
const TIME_PARTS = [["kernel", "kernels"], ["graph", "CUDA graphs"], ["nccl", "NCCL moves"], ["nccl", "NCCL"], ["wait", "NCCL waits"],
	["copy", "copies, memsets"], ["unknown", "not captured"]];
const NCCL = TIME_PARTS.findIndex(([, text]) => text === "NCCL");
const ALWAYS = ["kernels", "NCCL", "copies, memsets"]; // in the legend also where there is nothing of them
const STRIP_PX = 16; // of bins
const AXIS_PX = 20;
const STEPS_PX = 14;
const STRIPS_SHOWN = 6; // the others come by scrolling
const STRIPS_PRINTED = 64;
const TIME_LABEL_PX = 90, PART_LABEL_PX = 115; // in a part, times have more digits
const TICK_PX = 4;

const axisCanvas = $("axis"), strips = $("strips"), axisContext = axisCanvas.getContext("2d", { alpha: false });
// What is below the selection is drawn once: first is the strip on top.
const painted = { canvas: element("canvas"), width: 0, height: 0, left: 0, first: -1, theme: null };

function decodeTimes(reader, timeline) {
	const { strips: devices, bins, ticks, apart, firstStep, beginNs, beforeNs } = timeline;

	timeline.levels = new Uint8Array(reader.small(devices.length * TIME_PARTS.length * bins));
	const indexes = reader.small(ticks), offsets = reader.numbers(ticks);
	let time = beginNs;
	timeline.ticks = Array.from(indexes, (index, i) => ({ number: firstStep + index * apart, time: time += unzigzag(offsets[i]) }))
		.sort((a, b) => a.time - b.time);
	const there = TIME_PARTS.map((_, part) => devices.some((__, strip) => {
		const from = (strip * TIME_PARTS.length + part) * bins;

		return timeline.levels.subarray(from, from + bins).some((level) => level > 0);
	}));
	const isSplit = there[NCCL - 1] || there[NCCL + 1];
	timeline.parts = [...TIME_PARTS.keys()].filter((part) => there[part] || ALWAYS.includes(TIME_PARTS[part][1]) && !(part === NCCL && isSplit));
	timeline.endNs = beginNs + timeline.spanNs;
	timeline.firstNs = beginNs - beforeNs; // of the first bin: it may begin before what the page has
	timeline.stripPx = STRIP_PX;
	timeline.hasRanks = new Set(devices.map(([, , rank]) => rank)).size > 1;
	timeline.devices = devices.map(([host, gpu, rank]) => {
		const device = gpu < 0 ? "GPU?" : `GPU${gpu}`, whole = `${visibleText(host)} ${device}`.trim();

		return rank < 0 ? [whole, device] : [`rank ${rank} · ${whole}`, `rank ${rank}`];
	});
	decodeBoxes(reader, timeline);
}

// ---- Figures ----

const levelAt = (strip, part, bin) => profile.timeline.levels[(strip * TIME_PARTS.length + part) * profile.timeline.bins + bin];
const binAt = (ns) => Math.max(0, Math.min(profile.timeline.bins - 1, Math.floor((ns - profile.timeline.firstNs) / profile.timeline.binNs)));
const timeOfBin = (bin) => {
	const { beginNs, endNs, firstNs, binNs } = profile.timeline;

	return Math.max(beginNs, Math.min(endNs, firstNs + bin * binNs));
};

// The percentages of the parts in the bins [from, to] of a strip.
function sharesOf(strip, from, to) {
	return TIME_PARTS.map((_, part) => {
		let sum = 0;

		for (let bin = from; bin <= to; bin++)
			sum += levelAt(strip, part, bin);
		return sum / (to - from + 1);
	});
}

function sharesText(shares) {
	const idle = 100 - shares.reduce((sum, share) => sum + share, 0);

	return [...profile.timeline.parts.map((part) => `${TIME_PARTS[part][1]} ${shares[part].toFixed(0)} %`), `idle ${idle.toFixed(0)} %`].join(", ");
}

// Seconds to the nanosecond, without zeros at the end.
const secondsText = (ns) => `${Math.floor(ns / 1e9)}.${String(Math.round(ns % 1e9)).padStart(9, "0")}`.replace(/\.?0+$/, "");

// The first and the last step that may run at a time: there may be more steps than ticks. null: it is not known, because
// the time is before the first one, or because begins of steps are missing.
function stepsAt(ns) {
	const { ticks, apart } = profile.timeline, at = ticks.findLastIndex(({ time }) => time <= ns), tick = ticks[at], next = ticks[at + 1];

	return tick && (!next || next.number === tick.number + apart) ? [Math.max(1, tick.number), tick.number + apart - 1] : null;
}

const stepsWords = ([first, last]) => first === last ? `step ${first}` : `steps ${first} to ${last}`;

// Each rank has its own begins, and ticks are the first of all.
function stepText(ns) {
	const steps = stepsAt(ns);

	return steps ? stepsWords(steps) + (profile.timeline.hasRanks ? " of the first rank" : "") : "";
}

// The steps that have a part in a time.
function stepsText(from, to) {
	const first = stepsAt(from) ?? stepsAt(Math.max(from, profile.timeline.ticks[0]?.time)), last = stepsAt(to - 1);

	return first && last ? stepsWords([first[0], last[1]]) : "";
}

// ---- Drawing ----

const stripsTop = () => AXIS_PX + (profile.timeline.ticks.length ? STEPS_PX : 0);
const xOfTime = (ns) => painted.left + (ns - profile.timeline.beginNs) / profile.timeline.spanNs * (painted.width - painted.left);
const timeOfX = (x) => profile.timeline.beginNs +
	Math.max(0, Math.min(1, (x - painted.left) / (painted.width - painted.left))) * profile.timeline.spanNs;

// The least of 1, 2, 5, 10, 20 … that is this much.
function roundUp(least) {
	const unit = 10 ** Math.floor(Math.log10(least));

	return [1, 2, 5, 10].map((times) => times * unit).find((value) => value >= least * (1 - 1e-9));
}

function paintAxis(draw) {
	const { beginNs, endNs, spanNs, isPart } = profile.timeline, labelPx = isPart ? PART_LABEL_PX : TIME_LABEL_PX;
	const step = roundUp(Math.max(1, spanNs * labelPx / Math.max(1, painted.width - painted.left)));
	const [unit, word] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]].find(([ns]) => isPart || spanNs >= 2 * ns) ?? [1, "ns"];
	const decimals = Math.max(0, -Math.floor(Math.log10(step / unit) + 1e-9));

	draw.fillStyle = theme.text;
	for (let ns = Math.ceil(beginNs / step) * step; ns <= endNs; ns += step) {
		const x = Math.round(xOfTime(ns)), text = `${(ns / unit).toFixed(decimals)} ${word}`;

		draw.fillRect(x, AXIS_PX - 5, 1, 5);
		if (x + 4 + textWidth(text, 200) <= painted.width)
			draw.fillText(text, x + 4, AXIS_PX - 6);
	}
}

// A step that began before a part has its number at the left end.
function paintSteps(draw) {
	const { ticks: all, apart, beginNs } = profile.timeline, ticks = all.filter(({ time }) => time >= beginNs), top = AXIS_PX;
	const running = stepsAt(beginNs);
	const widest = 14 + textWidth(String(all.at(-1)?.number ?? ""), 200);
	const labels = ticks.length * widest / Math.max(1, painted.width - xOfTime(ticks[0]?.time ?? beginNs)), every = apart * roundUp(Math.max(1, labels));
	let lastTick = -TICK_PX, free = painted.left; // where no number stands yet

	if (all.length === 0)
		return;
	draw.fillStyle = theme.text;
	draw.fillText("steps", 0, top + 11);
	if (running && (ticks.length === 0 || xOfTime(ticks[0].time) >= painted.left + widest + 8)) {
		draw.fillText(`…${running[0]}`, painted.left + 1, top + 11);
		free += widest;
	}
	for (const { number, time } of ticks) {
		const x = Math.round(xOfTime(time)), hasLabel = number % every === 0 && x >= free && x + widest <= painted.width;

		if (x - lastTick >= TICK_PX || hasLabel)
			draw.fillRect(lastTick = x, top, 1, hasLabel ? STEPS_PX - 2 : 5);
		if (hasLabel) {
			draw.fillText(String(number), x + 3, top + 11);
			free = x + widest;
		}
	}
}

// A column of pixels has one bin or the mean of several.
function paintStrip(draw, strip, top) {
	const { bins, parts, stripPx, boxes } = profile.timeline, width = painted.width - painted.left, height = stripPx - 2;
	const columns = Math.min(bins, Math.max(1, Math.floor(width)));

	draw.fillStyle = theme.text;
	draw.fillText(fitText(profile.timeline.devices[strip], painted.left - 8), 0, top + 11);
	draw.fillStyle = theme.panel;
	draw.fillRect(painted.left, top, width, height);
	if (boxes.length)
		return paintBoxes(draw, strip, top);
	for (let column = 0; column < columns; column++) {
		const from = Math.floor(column * bins / columns), to = Math.max(from, Math.floor((column + 1) * bins / columns) - 1);
		const left = Math.round(xOfTime(timeOfBin(column * bins / columns)));
		const right = Math.round(xOfTime(timeOfBin((column + 1) * bins / columns)));
		const shares = sharesOf(strip, from, to);
		let bottom = top + height;

		for (const part of parts) {
			const tall = shares[part] * height / 100;

			if (tall === 0)
				continue;
			draw.fillStyle = theme[TIME_PARTS[part][0]];
			draw.fillRect(left, bottom - tall, Math.max(1, right - left), tall);
			bottom -= tall;
		}
	}
}

function paint(first, height, ratio) {
	const draw = painted.canvas.getContext("2d", { alpha: false });

	painted.canvas.width = axisCanvas.width;
	painted.canvas.height = axisCanvas.height;
	draw.setTransform(ratio, 0, 0, ratio, 0, 0);
	draw.fillStyle = theme.paper;
	draw.fillRect(0, 0, painted.width, height);
	draw.font = theme.font;
	paintAxis(draw);
	paintSteps(draw);
	const { devices, stripPx } = profile.timeline;

	for (let strip = Math.floor(first), top = stripsTop() - (first % 1) * stripPx; strip < devices.length && top < height; strip++, top += stripPx)
		paintStrip(draw, strip, top);
	Object.assign(painted, { first, height, theme });
}

function drawTimes() {
	if (!profile.timeline || $("times").hidden)
		return;
	const { stripPx } = profile.timeline, nr = profile.timeline.devices.length, shown = Math.min(nr, printing ? STRIPS_PRINTED : STRIPS_SHOWN);
	const width = printing ? PRINT_WIDTH_PX : strips.clientWidth, height = stripsTop() + shown * stripPx, ratio = printing ? 2 : devicePixelRatio || 1;

	if (width === 0)
		return; // it is folded, or another tab is open
	strips.style.height = `${height}px`;
	$("strips-spacer").style.height = `${(nr - shown) * stripPx}px`;
	if (axisCanvas.width !== Math.round(width * ratio) || axisCanvas.height !== Math.round(height * ratio)) {
		axisCanvas.width = Math.round(width * ratio);
		axisCanvas.height = Math.round(height * ratio);
		axisCanvas.style.width = `${width}px`;
		axisCanvas.style.height = `${height}px`;
		painted.theme = null;
	}
	const first = printing ? 0 : Math.min(Math.floor(strips.scrollTop / stripPx), nr - shown);

	context.font = theme.font; // which textWidth() measures with
	painted.width = width;
	painted.left = width < 500 ? 66 : 170;
	if (painted.theme !== theme || painted.first !== first || painted.height !== height)
		paint(first, height, ratio);
	axisContext.setTransform(1, 0, 0, 1, 0, 0);
	axisContext.drawImage(painted.canvas, 0, 0);
	axisContext.setTransform(ratio, 0, 0, ratio, 0, 0);
	drawBrush(axisContext, height);
}

// ---- Words ----

function lackText({ leftOut, missing, dropped, lost, damaged, unclocked, devices }) {
	return [[missing, "node's events are", "nodes' events are", "not here"],
		[leftOut, "GPU more has", "GPUs more have", `no strip: a page has ${grouped(devices.length)}`],
		[dropped, "older event was", "older events were", "dropped, as --timeline and --max-size asked"],
		[lost, "event is", "events are", "missing: the disk did not take all"],
		[damaged, "part of the timeline's files", "parts of the timeline's files", "could not be read"],
		[unclocked, "event is", "events are", "left out: the clock or the process is not known"],
	].filter(([count]) => count > 0).map(([count, one, several, text]) => `${grouped(count)} ${count === 1 ? one : several} ${text}`).join("; ");
}

function makeTimes() {
	const { timeline } = profile;

	$("times").hidden = !timeline;
	if (!timeline)
		return;
	const { devices, bins, binNs, beginNs, endNs, spanNs, isPart, parts, apart, ticks, boxes } = timeline, lack = lackText(timeline);
	const nrSteps = ticks.length * apart;
	const steps = nrSteps ? `, ${apart === 1 ? "" : "about "}${grouped(nrSteps)} step${nrSteps === 1 ? "" : "s"}` : "";

	const pieces = boxes.length ? `, ${boxes.length === 1 ? "1 piece" : `${grouped(boxes.length)} pieces`} of work` : "";
	const which = isPart ? `${secondsText(beginNs)} s to ${secondsText(endNs)} s: ` : "";

	$("times-what").textContent = `Time: ${which}${timeText(spanNs)}, ${devices.length === 1 ? "1 GPU" : `${grouped(devices.length)} GPUs`}${steps}${pieces}`;
	$("times-what").title = `${grouped(bins)} bins of ${timeText(binNs)}`;
	$("times-legend").replaceChildren(...parts.map((part) => legendItem(...TIME_PARTS[part])), legendItem("idle", "idle"));
	$("times-lack").hidden = !lack;
	$("times-lack").textContent = lack;
	$("times-keys").hidden = $("times-keys").nextElementSibling.hidden = false;
	$("pieces-keys").hidden = $("pieces-keys").nextElementSibling.hidden = boxes.length === 0;
	axisCanvas.setAttribute("aria-label", `Time axis of ${timeText(spanNs)}, ${devices.length} devices${steps}${pieces}. ` +
		`Arrow keys move${boxes.length ? " from piece to piece" : ""}, with Shift they select a range, Escape clears it.`);
}

// What tests may look at.
function describeTimes() {
	const { timeline } = profile;

	return timeline && { beginNs: timeline.beginNs, endNs: timeline.endNs, spanNs: timeline.spanNs, stripPx: timeline.stripPx, binNs: timeline.binNs, bins: timeline.bins, ticks: timeline.ticks, apart: timeline.apart,
		devices: timeline.devices, range: choice.range, left: painted.left, width: painted.width, top: stripsTop(), first: painted.first,
		levels: timeline.devices.map((_, strip) => TIME_PARTS.map((__, part) => Array.from({ length: timeline.bins }, (___, bin) =>
			levelAt(strip, part, bin)))), piece,
		boxes: timeline.boxes.map((box) => ({ ...box, name: profile.strings[box.name], stack: stackOf(box) })) };
}
