// The canvases: what is drawn where, and what is under a point.

const ROW_PX = 22;
const MIN_FRAME_PX = 1; // narrower frames are joined
const MIN_TEXT_PX = 22;
const TEXT_PAD_PX = 5;
const CUT_MIN = 8; // characters: a name of which less is left says nothing
const ZOOM_MS = 140;
const PRINT_WIDTH_PX = 1400;
const PRINT_HEIGHT_MAX_PX = 8000;
const MODULE_COLORS = ["gemm", "nccl", "elementwise", "reduction", "attention", "copy", "kernel", "graph", "wait"];

const canvas = $("graph"), overlay = $("overlay"), stage = $("stage");
const context = canvas.getContext("2d", { alpha: false }), over = overlay.getContext("2d");
const darkMode = matchMedia("(prefers-color-scheme: dark)"), calmMode = matchMedia("(prefers-reduced-motion: reduce)");
let theme, charWidths = new Map(), asciiWidths = new Float64Array(128), moduleColors = new Map();
let pixels = { image: null, all: null, line: null, edge: null, colors: new Map() };

function readTheme() {
	const style = getComputedStyle(document.documentElement);
	const color = (name) => style.getPropertyValue(name).trim();

	theme = { paper: color("--paper"), ink: color("--frame-ink"), accent: color("--accent"), text: color("--ink"), panel: color("--panel"),
		small: color("--small"), smallLine: color("--small-line"), more: color("--more"), less: color("--less"),
		font: `12px ${getComputedStyle(document.body).fontFamily}` };
	for (const word of [...CLASSES, "hit"])
		theme[word] = color(`--class-${word}`);
	charWidths = new Map();
	asciiWidths.fill(0);
	pixels.colors = new Map();
}

// The modules that have most; all others share one colour.
function countModules() {
	const sizes = new Map();

	for (let frame = 1; frame < frames.nr; frame++) {
		const module = moduleOfId(profile, frames.name[frame]);

		if (frame >= frames.nrGroups && module !== "other")
			sizes.set(module, (sizes.get(module) ?? 0) + layout.value[frame]);
	}
	const most = [...sizes].sort((a, b) => b[1] - a[1]).slice(0, MODULE_COLORS.length);
	moduleColors = new Map(most.map(([module], i) => [module, MODULE_COLORS[i]]));
}

// The colour of a frame: a word of the theme, or of a difference the colour itself.
function fillOf(frame) {
	const id = frames.name[frame];

	if (search.names?.[id])
		return "hit";
	if (changes)
		return fillOfChange(changes.most ? changes.of[frame] / changes.most : 0);
	if (choice.color === "module" && frame >= frames.nrGroups)
		return moduleColors.get(moduleOfId(profile, id)) ?? "native";
	return classOf(frame);
}

const channelsOf = (color) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));

// As much of one colour as its part says, and the rest of another; all are #rrggbb.
function mixColors(color, rest, part) {
	const other = channelsOf(rest);

	return `#${channelsOf(color).map((value, i) => Math.round(value * part + other[i] * (1 - part)).toString(16).padStart(2, "0")).join("")}`;
}

// More is red, less is blue, the more the stronger; what is as it was is grey.
function fillOfChange(change) {
	return change === 0 ? "#d6d6d6" : mixColors(change > 0 ? "#f0503a" : "#4a86f0", "#e8e4e4", 0.15 + 0.85 * Math.abs(change));
}

// The pixel of a colour that is this opaque over the paper.
function pixelOf(fill, alpha) {
	let known = pixels.colors.get(alpha);

	if (known === undefined)
		pixels.colors.set(alpha, known = new Map());
	let pixel = known.get(fill);
	if (pixel === undefined) {
		const color = theme[fill] ?? fill;
		const [red, green, blue] = channelsOf(alpha === 1 ? color : mixColors(color, theme.paper, alpha));

		known.set(fill, pixel = (0xff000000 | blue << 16 | green << 8 | red) >>> 0);
	}
	return pixel;
}

// ---- Text ----

// Widths of characters are remembered: measuring whole names is what would be slow.
function charWidth(char) {
	const code = char.codePointAt(0);
	let width = code < 128 ? asciiWidths[code] : charWidths.get(char) ?? 0;

	if (width === 0) {
		width = context.measureText(char).width;
		if (code < 128)
			asciiWidths[code] = width;
		else
			charWidths.set(char, width);
	}
	return width;
}

// The width of a text; what is beyond a limit does not matter.
function textWidth(text, limit) {
	let width = 0;

	for (const char of text)
		if ((width += charWidth(char)) > limit)
			break;
	return width;
}

// The full name, else the one with "<…>" for templates, else the one without, else that with a hole in its middle: the end
// tells kernels apart.
function fitText([full, short], width) {
	if (textWidth(full, width) <= width)
		return full;
	if (textWidth(short, width) <= width)
		return short;
	const bare = short.replaceAll("<…>", "");
	if (textWidth(bare, width) <= width)
		return bare;
	const chars = Array.from(bare); // they do not fit, so the hole is met before their end
	let used = charWidth("…"), head = 0, tail = 0;

	for (;;) {
		const atHead = head <= 1.5 * tail, next = charWidth(atHead ? chars[head] : chars[chars.length - 1 - tail]);

		if (used + next > width)
			break;
		used += next;
		if (atHead)
			head++;
		else
			tail++;
	}
	return head + tail >= CUT_MIN ? `${chars.slice(0, head).join("")}…${tail ? chars.slice(-tail).join("") : ""}` : "";
}

// ---- Geometry ----

const target = () => ({ from: layout.x[zoom], span: layout.value[zoom] });

function shownRows() {
	const { from, span } = target();
	const first = highestRow(layout, from, from + span);

	return { first, nr: deepestRow(layout, from, from + span) - first + 1 };
}

// Rows on the canvas, whether or not it is high enough for them.
function contentHeight() {
	const rows = shownRows().nr * ROW_PX + 1;

	return printing ? Math.min(rows, PRINT_HEIGHT_MAX_PX) : Math.max(rows, stage.clientHeight);
}

const isUpward = () => choice.up && layout.center === 0;
const rowTop = (depth, height, first) => isUpward() ? height - (depth + 1) * ROW_PX : (depth - first) * ROW_PX;

function resize() {
	const height = contentHeight();
	const width = printing ? PRINT_WIDTH_PX : stage.clientWidth;
	const shown = printing ? height : Math.min(height, stage.clientHeight);
	const ratio = printing ? 2 : devicePixelRatio || 1;

	$("spacer").style.height = `${height - shown}px`;
	for (const each of [canvas, overlay])
		if (each.width !== Math.round(width * ratio) || each.height !== Math.round(shown * ratio)) {
			each.width = Math.round(width * ratio);
			each.height = Math.round(shown * ratio);
			each.style.width = `${width}px`;
			each.style.height = `${shown}px`;
		}
	canvasSize = { width, height: shown };
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	over.setTransform(ratio, 0, 0, ratio, 0, 0);
}

// ---- Boxes: frames, and runs of frames that are too narrow ----

const isWide = (frame, scale) => layout.value[frame] * scale >= MIN_FRAME_PX;

// The innermost frame around a narrow one that is wide.
function ownerOf(frame, scale) {
	do
		frame = frames.parent[frame];
	while (frame !== 0 && !isWide(frame, scale));
	return frame;
}

// The end of the run of narrow frames that begins at a place of a row. Narrow frames of one owner are one run. edge:
// where the owner ends, if all behind a narrow frame are narrow up to there; else -1.
function endOfRun(depth, at, edge, scale) {
	const row = layout.rows[depth], left = layout.left[depth], right = layout.right[depth];

	if (edge >= 0)
		return firstAbove(right, at + 1, edge);
	const owner = ownerOf(row[at], scale), step = MIN_FRAME_PX / scale;
	for (let end = at; ; ) {
		// What ends within a pixel is narrow: no need to look at it.
		const next = firstAbove(right, end + 1, left[end] + step);

		end = next;
		if (end === row.length || isWide(row[end], scale) || ownerOf(row[end], scale) !== owner || left[end] > right[next - 1] + step)
			return end;
	}
}

// Calls visit(at, end, left, right) for each box of a row from left to right, until it returns true. Returns the edges of
// this row, for the one that is further from the root: ends of its boxes, or of the owners of its runs. isAll: of all
// boxes; else only of runs, as the widest frames need not come first. edges: those of the row that is nearer, null: not
// known. They spare looks at parents, which lie far apart in memory.
function visitBoxes(depth, { from, span }, visit, edges = null) {
	const row = layout.rows[depth], left = layout.left[depth], right = layout.right[depth];
	const scale = canvasSize.width / span, narrow = MIN_FRAME_PX / scale;
	const own = { ends: [], isAll: !choice.byName && row[0] >= frames.nrGroups }, nearEnds = edges?.ends;
	let near = 0;

	// Where the narrow frames of one owner end; -1: their order does not say.
	const edgeOf = (at) => {
		if (edges && (edges.isAll || layout.value[frames.parent[row[at]]] < narrow)) {
			while (near < nearEnds.length && nearEnds[near] <= left[at])
				near++;
			return nearEnds[near] ?? -1;
		}
		const owner = ownerOf(row[at], scale);
		return choice.byName || owner < frames.nrGroups ? -1 : layout.x[owner] + layout.value[owner];
	};

	for (let at = firstAfter(layout, depth, from); at < row.length; ) {
		const start = (left[at] - from) * scale;
		let end = at + 1;

		if (start >= canvasSize.width)
			break;
		if (right[at] - left[at] < narrow) {
			const edge = edgeOf(at);

			end = endOfRun(depth, at, edge, scale);
			own.ends.push(edge < 0 ? right[end - 1] : edge);
		} else if (own.isAll) {
			own.ends.push(right[at]);
		}
		if (visit(at, end, Math.max(0, start), Math.min(canvasSize.width, (right[end - 1] - from) * scale)))
			break;
		at = end;
	}
	return own;
}

// ---- Drawing ----

function queueDraw() {
	if (!drawQueued)
		requestAnimationFrame(drawFrame);
	drawQueued = true;
}

function drawFrame(now) {
	const to = target();

	drawQueued = false;
	view = to;
	if (zoomStart && !printing) {
		const done = Math.min(1, Math.max(0, (now - zoomStart.at) / ZOOM_MS));
		const eased = 1 - (1 - done) ** 3;

		view = { from: zoomStart.from + (to.from - zoomStart.from) * eased,
			span: zoomStart.span + (to.span - zoomStart.span) * eased };
		if (done === 1)
			zoomStart = null;
		else
			queueDraw();
	}
	draw();
}

// Boxes are written as pixels, a line for each row, because a call for each box would take longer. Text comes after.
function draw() {
	const started = performance.now();
	const height = contentHeight(), scroll = printing ? 0 : stage.scrollTop, { first, nr } = shownRows(), rows = [];

	if (canvas.width === 0 || canvas.height === 0)
		return;
	if (choice.color === "module" && moduleColors.size === 0)
		countModules();
	if (view.span > 0)
		for (let depth = first; depth < first + nr; depth++) {
			const top = rowTop(depth, height, first) - scroll;

			if (top > -ROW_PX && top < canvasSize.height)
				rows.push({ depth, top });
		}
	beginPixels();
	let edges = null;
	const texts = rows.map(({ depth, top }) => {
		const drawn = drawRow(depth, top, depth > layout.center ? edges : null);

		edges = drawn.edges;
		return drawn.texts;
	});
	context.putImageData(pixels.image, 0, 0);
	context.textBaseline = "middle";
	context.textAlign = "left";
	context.direction = "ltr";
	texts.forEach((list, i) => drawTexts(list, rows[i].top + ROW_PX / 2));
	drawOverlay();
	drawMs = performance.now() - started;
	firstDrawMs ||= performance.now();
}

function beginPixels() {
	context.font = theme.font; // a new size of the canvas has reset it
	if (pixels.image?.width !== canvas.width || pixels.image.height !== canvas.height) {
		pixels.image = context.createImageData(canvas.width, canvas.height);
		pixels.all = new Uint32Array(pixels.image.data.buffer);
		pixels.line = new Uint32Array(canvas.width);
		pixels.edge = new Uint32Array(canvas.width);
	}
	pixels.all.fill(pixelOf("paper", 1));
}

// What is between a zoomed frame and the root is faded.
const isAround = (depth) => zoom !== 0 && (depth >= layout.center ? depth < layout.depth[zoom] : depth > layout.depth[zoom]);

// Writes a row's boxes, and returns its texts. The line at its upper and lower edge lacks runs of narrow frames.
function drawRow(depth, top, near) {
	const row = layout.rows[depth], faded = isAround(depth), ratio = canvas.width / canvasSize.width, texts = [];
	const { line, edge } = pixels, paper = pixelOf("paper", 1), gap = Math.round(ratio);

	line.fill(paper);
	edge.fill(paper);
	const edges = visitBoxes(depth, view, (at, end, left, right) => {
		const frame = row[at], width = right - left, from = Math.round(left * ratio);
		const to = Math.max(from + 1, Math.round(right * ratio) - (width > 3 ? gap : 0));

		if (end > at + 1) {
			drawRun(end - at, left, width, from, to, texts);
			return;
		}
		const dim = search.names && !search.names[frames.name[frame]];
		const pixel = pixelOf(fillOf(frame), faded ? 0.5 : dim ? 0.42 : 1);

		line.fill(pixel, from, to);
		edge.fill(pixel, from, to);
		if (width >= MIN_TEXT_PX)
			texts.push({ left: left + TEXT_PAD_PX, alpha: faded ? 0.7 : dim ? 0.75 : 1, color: theme.ink,
				text: fitText(frame === 0 && !choice.sandwich ? [labelOf(0), labelOf(0)] : labelsOfId(profile, frames.name[frame]),
					width - 2 * TEXT_PAD_PX) });
	}, near);
	const bottom = Math.min(canvas.height, Math.round((top + ROW_PX - 1) * ratio)), begin = Math.round(top * ratio);
	for (let y = Math.max(0, begin); y < bottom; y++)
		pixels.all.set(y < begin + 3 * gap || y >= Math.round((top + ROW_PX - 4) * ratio) ? edge : line, y * canvas.width);
	return { texts, edges };
}

// A run of narrow frames: a lower box with stripes, and their number if there is room.
function drawRun(nr, left, width, from, to, texts) {
	const { line } = pixels, stripe = pixelOf("smallLine", 1);

	line.fill(pixelOf("small", 1), from, to);
	for (let x = from + 1; x < to - 1; x += 3)
		line[x] = stripe;
	if (width < MIN_TEXT_PX)
		return;
	const text = `+${nr}`, wide = textWidth(text, width), ratio = canvas.width / canvasSize.width;
	if (width < wide + 2 * TEXT_PAD_PX)
		return;
	line.fill(pixelOf("paper", 1), from + Math.round(3 * ratio), from + Math.round((wide + 7) * ratio));
	texts.push({ left: left + TEXT_PAD_PX, alpha: 1, color: theme.text, text });
}

function drawTexts(texts, y) {
	for (const { left, alpha, color, text } of texts) {
		context.globalAlpha = alpha;
		context.fillStyle = color;
		context.fillText(text, left, y);
	}
	context.globalAlpha = 1;
}

// Where a frame is on the canvas once a zoom has ended; null: not inside the zoomed frame's width, or too narrow.
function rectOf(frame) {
	const { from, span } = target(), scale = canvasSize.width / span;
	const left = Math.max(0, (layout.x[frame] - from) * scale);
	const right = Math.min(canvasSize.width, (layout.x[frame] + layout.value[frame] - from) * scale);

	if (!(right - left >= MIN_FRAME_PX) || (frame !== 0 && layout.depth[frame] === layout.center))
		return null;
	return { x: left, y: rowTop(layout.depth[frame], contentHeight(), shownRows().first) - stage.scrollTop, w: right - left,
		h: ROW_PX };
}

// Outlines have a canvas of their own, so that the pointer costs no drawing of frames.
function drawOverlay() {
	over.clearRect(0, 0, canvasSize.width, canvasSize.height);
	if (printing || zoomStart)
		return;
	if (focus !== 0)
		outline(rectOf(focus), theme.text, 2);
	if (document.activeElement === canvas)
		outline(rectOf(focus), theme.accent, 2);
	if (hover)
		outline(hover.rect, theme.text, 1);
}

function outline(rect, color, width) {
	if (!rect)
		return;
	over.strokeStyle = color;
	over.lineWidth = width;
	over.strokeRect(rect.x + width / 2, rect.y + width / 2, Math.max(1, rect.w - 1 - width), ROW_PX - 1 - width);
}

// The box under a point of the canvas: { frame, nr, rect }. frame is the widest of nr frames. null: none is there.
function boxAt(x, y) {
	const height = contentHeight(), { first, nr } = shownRows();
	const place = Math.floor((isUpward() ? height - (y + stage.scrollTop) : y + stage.scrollTop) / ROW_PX);
	const depth = place + first, list = layout.rows[depth];
	let box = null;

	if (!list || place < 0 || place >= nr || !(target().span > 0) || x < 0 || x >= canvasSize.width)
		return null;
	visitBoxes(depth, target(), (at, end, left, right) => {
		if (x >= left && x < Math.max(right, left + MIN_FRAME_PX)) {
			const inside = list.subarray(at, end);
			let frame = list[at], value = 0;

			for (const each of inside) {
				frame = layout.value[each] > layout.value[frame] ? each : frame;
				value += layout.value[each];
			}
			box = { frame, nr: end - at, value, rect: { x: left, y: rowTop(depth, height, first) - stage.scrollTop,
				w: right - left, h: ROW_PX } };
		}
		return left > x;
	});
	return box;
}
