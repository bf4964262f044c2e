// Single pieces of GPU work on the time axis. The page of a short range has them in place of bins.

const LANE_PX = 12;
const LANES_MOST = 4; // more pieces that run at once on a GPU stand in the last lane

let piece = -1; // the selected one, an index of the boxes

// Pieces that run at once stand in lanes of their own.
function layLanes(boxes) {
	let strip = -1, ends = [], most = 1;

	for (const box of boxes) {
		if (box.strip !== strip) {
			strip = box.strip;
			ends = [];
		}
		let lane = ends.findIndex((end) => end <= box.from);

		if (lane < 0)
			lane = Math.min(ends.length, LANES_MOST - 1);
		ends[lane] = Math.max(ends[lane] ?? 0, box.to);
		box.lane = lane;
		most = Math.max(most, lane + 1);
	}
	return most;
}

// before: how long before its begin it was launched, in ns; null: its launch is not known.
function decodeBoxes(reader, timeline) {
	const nr = timeline.boxes;
	let time = timeline.beginNs;

	timeline.boxes = [];
	if (nr === 0)
		return;
	const strip = reader.small(nr), part = reader.small(nr), [starts, lengths, waits, launches] = [0, 1, 2, 3].map(() => reader.numbers(nr));
	const [contexts, streams, threads] = [0, 1, 2].map(() => reader.numbers(nr)), nodes = reader.small(nr), names = reader.small(nr);

	for (let i = 0; i < nr; i++) {
		time += unzigzag(starts[i]);
		timeline.boxes.push({ strip: strip[i], part: part[i], from: time, to: time + lengths[i], wait: waits[i],
			before: launches[i] === 0 ? null : unzigzag(launches[i] - 1), context: contexts[i], stream: streams[i], thread: threads[i],
			node: nodes[i], name: names[i] });
	}
	timeline.lanes = layLanes(timeline.boxes);
	timeline.stripPx = Math.max(STRIP_PX, 2 + LANE_PX * timeline.lanes);
}

// ---- Words ----

const nameOfPiece = (box) => labelsOf(profile.strings[box.name])[0];

// The frames of its launch, the outermost first.
function stackOf(box) {
	const stack = [];

	for (let node = box.node; node !== 0; node = profile.nodeParent[node])
		stack.unshift(profile.strings[profile.nodeName[node]]);
	return stack;
}

function pieceText(box) {
	const waits = box.wait ? `, of which it waits ${timeText(box.wait)}` : "", stream = box.stream === NO_STREAM ? "" : `, stream ${box.stream}`;
	const launch = box.before === null ? "; its launch is not known" :
		`; launched ${timeText(Math.abs(box.before))} ${box.before < 0 ? "after" : "before"} that`;

	return `${timeText(box.to - box.from)}${waits}, from ${secondsText(box.from)} s${stream}${launch}`;
}

function showPiece() {
	const box = profile.timeline.boxes[piece];

	$("piece").hidden = !box;
	if (box) {
		$("piece-what").textContent = `${nameOfPiece(box)} on ${profile.timeline.devices[box.strip][0]}: ${pieceText(box)}`;
		$("piece-stack").textContent = stackOf(box).map(visibleText).join("\n");
		$("piece-show").disabled = frameOfPiece(box) <= 0;
	}
	drawTimes();
}

function closePiece() {
	piece = -1;
	showPiece();
}

// Work that began before the page's time is in no frame of its graph.
function frameOfPiece(box) {
	for (let leaf = 0; leaf < profile.leaves; leaf++)
		if (profile.leafNode[leaf] === box.node && profile.leafName[leaf] === box.name && frames.leafFrame[leaf] > 0)
			return frames.leafFrame[leaf];
	return -1;
}

function showPieceInGraph() {
	const box = profile.timeline.boxes[piece], frame = box ? frameOfPiece(box) : -1;

	if (frame <= 0)
		return;
	if (zoom !== 0)
		zoomTo(0);
	focusOn(frame);
}

// ---- Drawing ----

// Where a piece is on the axis, if the top of its strip is there.
function rectOfPiece(box, top) {
	const { lanes, stripPx } = profile.timeline, tall = (stripPx - 2) / lanes;
	const left = Math.max(painted.left, xOfTime(box.from)), right = Math.min(painted.width, xOfTime(box.to));

	return { x: left, y: top + box.lane * tall, w: Math.max(1, right - left), h: tall };
}

function paintBoxes(draw, strip, top) {
	for (const box of profile.timeline.boxes) {
		if (box.strip !== strip)
			continue;
		const { x, y, w, h } = rectOfPiece(box, top), shownWidth = w > 3 ? w - 1 : w, tall = profile.timeline.lanes > 1 ? h - 1 : h;

		draw.fillStyle = theme[TIME_PARTS[box.part][0]];
		draw.fillRect(x, y, shownWidth, tall);
		if (box.wait) {
			draw.fillStyle = theme.wait;
			draw.fillRect(x, y, Math.max(0, Math.min(shownWidth, xOfTime(box.from + box.wait) - x)), tall);
		}
		if (w < MIN_TEXT_PX)
			continue;
		draw.fillStyle = theme.ink;
		draw.fillText(fitText(labelsOf(profile.strings[box.name]), w - 6), x + 3, y + (tall + 8) / 2);
	}
}

function outlinePiece(draw) {
	const box = profile.timeline.boxes[piece], row = box ? box.strip - painted.first : -1;

	if (!box || row < 0)
		return;
	const { x, y, w, h } = rectOfPiece(box, stripsTop() + row * profile.timeline.stripPx);

	draw.strokeStyle = theme.text;
	draw.lineWidth = 2;
	draw.strokeRect(x - 1, y - 1, w + 2, h + 1);
}

// ---- Pointer and keys ----

// The piece under a point of the axis, or next to it, since short ones are narrow; -1: there is none.
function pieceAt(x, y) {
	const { boxes, stripPx, lanes } = profile.timeline, place = y - stripsTop(), strip = Math.floor(place / stripPx) + painted.first;
	const lane = Math.min(lanes - 1, Math.floor((place % stripPx) / (stripPx - 2) * lanes));
	let found = -1, nearest = 3; // pixels

	if (place < 0 || x < painted.left)
		return -1;
	boxes.forEach((box, i) => {
		if (box.strip !== strip || box.lane !== lane)
			return;
		const rect = rectOfPiece(box, 0), away = Math.max(rect.x - x, x - rect.x - rect.w, 0);

		if (away < nearest) {
			nearest = away;
			found = i;
		}
	});
	return found;
}

// To the next piece of the strip, or the one before; at first to that of the bin under the keys.
function movePiece(step) {
	const { boxes } = profile.timeline, of = [...boxes.keys()].filter((i) => boxes[i].strip === brush.strip), at = of.indexOf(piece);
	const next = at < 0 ? of.find((i) => boxes[i].to > timeOfBin(Math.max(0, brush.bin))) ?? of.at(-1) : of[Math.max(0, Math.min(of.length - 1, at + step))];

	if (next === undefined)
		return;
	piece = next;
	brush.bin = binAt(boxes[piece].from);
	showPiece();
}
