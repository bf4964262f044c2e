// The canvas: what is drawn where, and what is under a point.

const ROW_PX = 20;
const MIN_FRAME_PX = 0.3;
const MIN_TEXT_PX = 22;
const TEXT_PAD_PX = 5;
const ZOOM_MS = 140;
const PRINT_WIDTH_PX = 1400;
const PRINT_HEIGHT_MAX_PX = 8000;

const canvas = $("graph"), stage = $("stage"), context = canvas.getContext("2d");
const darkMode = matchMedia("(prefers-color-scheme: dark)"), calmMode = matchMedia("(prefers-reduced-motion: reduce)");
let theme, fillOfName = [], charWidths = new Map();

function readTheme() {
	const style = getComputedStyle(document.documentElement);
	const color = (name) => style.getPropertyValue(name).trim();

	theme = { paper: color("--paper"), ink: color("--frame-ink"), accent: color("--accent"), text: color("--ink"),
		hit: color("--hit").split(/[ %]+/).map(Number), font: `12px ${getComputedStyle(document.body).fontFamily}` };
	for (const kind of KINDS)
		theme[kind] = color(`--frame-${kind}`).split(/[ %]+/).map(Number);
	fillOfName = [];
	charWidths = new Map();
}

function fillOf(frame) {
	const id = frames.name[frame];

	if (search.names?.[id])
		return `hsl(${theme.hit[0]} ${theme.hit[1]}% ${theme.hit[2]}%)`;
	if (changes)
		return fillOfChange(changes.most ? changes.of[frame] / changes.most : 0);
	return fillOfName[id] ??= fillOfKind(kindOf(frame), hashName(profile.names[id]));
}

// More is red, less is blue, the more the stronger; what is as it was is grey.
function fillOfChange(change) {
	return change === 0 ? "hsl(0 0% 84%)" : `hsl(${change > 0 ? 8 : 214} 85% ${90 - 36 * Math.abs(change)}%)`;
}

function fillOfKind(kind, hash) {
	const [hue, saturation, lightness] = theme[kind];
	const turn = kind === "group" || kind === "unknown" ? 0 : (hash % 17 - 8) * 0.7;
	const shade = ((hash >>> 8) % 9 - 4) * 0.9;

	return `hsl(${hue + turn} ${saturation}% ${lightness + shade}%)`;
}

// As much of the name as fits. Widths of characters are remembered: measuring whole names is what would be slow.
function fitText(name, width) {
	let used = 0, at = 0;
	const ellipsis = charWidth("…");

	for (let fits = 0; at < name.length; ) {
		const char = String.fromCodePoint(name.codePointAt(at));

		used += charWidth(char);
		if (used > width)
			return fits ? `${name.slice(0, fits)}…` : "";
		at += char.length;
		if (used + ellipsis <= width)
			fits = at;
	}
	return name;
}

function charWidth(char) {
	let width = charWidths.get(char);

	if (width === undefined)
		charWidths.set(char, width = context.measureText(char).width);
	return width;
}

const target = () => ({ from: layout.x[zoom], span: layout.value[zoom] });

// Rows on the canvas, whether or not it is high enough for them.
function contentHeight() {
	const { from, span } = target();
	const rows = (deepestRow(layout, from, from + span) + 1) * ROW_PX + 1;

	return printing ? Math.min(rows, PRINT_HEIGHT_MAX_PX) : Math.max(rows, stage.clientHeight);
}

const rowTop = (depth, height) => choice.up ? height - (depth + 1) * ROW_PX : depth * ROW_PX;

function resize() {
	const height = contentHeight();
	const width = printing ? PRINT_WIDTH_PX : stage.clientWidth;
	const shown = printing ? height : Math.min(height, stage.clientHeight);
	const ratio = printing ? 2 : devicePixelRatio || 1;

	$("spacer").style.height = `${height - shown}px`;
	if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(shown * ratio)) {
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(shown * ratio);
		canvas.style.width = `${width}px`;
		canvas.style.height = `${shown}px`;
	}
	canvasSize = { width, height: shown };
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
}

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

function draw() {
	const started = performance.now();
	const height = contentHeight(), scroll = printing ? 0 : stage.scrollTop;

	context.globalAlpha = 1;
	context.fillStyle = theme.paper;
	context.fillRect(0, 0, canvasSize.width, canvasSize.height);
	context.font = theme.font;
	context.textBaseline = "middle";
	context.textAlign = "left";
	context.direction = "ltr";
	if (view.span > 0)
		for (let depth = 0; depth < layout.rows.length; depth++) {
			const top = rowTop(depth, height) - scroll;

			if (top > -ROW_PX && top < canvasSize.height)
				drawRow(depth, top);
		}
	context.globalAlpha = 1;
	if (!printing && hover >= 0)
		outline(hover, theme.text, 1);
	if (!printing && document.activeElement === canvas)
		outline(focus, theme.accent, 2);
	drawMs = performance.now() - started;
}

function drawRow(depth, top) {
	const row = layout.rows[depth], scale = canvasSize.width / view.span;
	const faded = depth < layout.depth[zoom];

	for (let at = firstAfter(layout, row, view.from); at < row.length; at++) {
		const frame = row[at];
		const left = Math.max(0, (layout.x[frame] - view.from) * scale);
		const right = Math.min(canvasSize.width, (layout.x[frame] + layout.value[frame] - view.from) * scale);
		const width = right - left;

		if (left >= canvasSize.width)
			break;
		if (width < MIN_FRAME_PX)
			continue;
		context.globalAlpha = faded ? 0.5 : search.names && !search.names[frames.name[frame]] ? 0.42 : 1;
		context.fillStyle = fillOf(frame);
		context.fillRect(left, top, width > 3 ? width - 1 : width * 0.85, ROW_PX - 1);
		if (width < MIN_TEXT_PX)
			continue;
		context.globalAlpha = faded ? 0.7 : search.names && !search.names[frames.name[frame]] ? 0.75 : 1;
		context.fillStyle = theme.ink;
		context.fillText(fitText(nameOf(frame), width - 2 * TEXT_PAD_PX), left + TEXT_PAD_PX, top + ROW_PX / 2);
	}
}

// Where a frame is on the canvas once a zoom has ended; null: not inside the zoomed frame's width, or too narrow.
function rectOf(frame) {
	const { from, span } = target(), scale = canvasSize.width / span;
	const left = Math.max(0, (layout.x[frame] - from) * scale);
	const right = Math.min(canvasSize.width, (layout.x[frame] + layout.value[frame] - from) * scale);

	if (!(right - left >= MIN_FRAME_PX) || (frame !== 0 && layout.depth[frame] === 0))
		return null;
	return { x: left, y: rowTop(layout.depth[frame], contentHeight()) - stage.scrollTop, w: right - left, h: ROW_PX };
}

function outline(frame, color, width) {
	const rect = zoomStart ? null : rectOf(frame);

	if (!rect)
		return;
	context.strokeStyle = color;
	context.lineWidth = width;
	context.strokeRect(rect.x + width / 2, rect.y + width / 2, Math.max(1, rect.w - 1 - width), ROW_PX - 1 - width);
}

// The frame under a point of the canvas, -1: none.
function hit(x, y) {
	const { from, span } = target(), scale = canvasSize.width / span, height = contentHeight();
	const row = Math.floor((choice.up ? height - (y + stage.scrollTop) : y + stage.scrollTop) / ROW_PX);
	const list = layout.rows[row];

	if (!list || !(span > 0) || x < 0 || x >= canvasSize.width)
		return -1;
	const place = from + x / scale, at = firstAfter(layout, list, place);
	if (at === list.length || layout.x[list[at]] > place || layout.value[list[at]] * scale < MIN_FRAME_PX)
		return -1;
	return list[at];
}
