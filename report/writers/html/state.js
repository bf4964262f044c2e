// What the page knows and what its reader chose.

const DIMENSION_LABELS = { plane: "plane", job: "job", "step-kind": "step kind",
	host: "host", rank: "rank", gpu: "GPU", context: "context", stream: "stream", thread: "thread" };

const $ = (id) => document.getElementById(id);

function element(tag, text, className) {
	const made = document.createElement(tag);

	if (text !== undefined)
		made.textContent = text;
	if (className)
		made.className = className;
	return made;
}

// tree: all merged frames; frames: those that are shown, the tree's or a sandwich's; changes: of a difference.
let profile, tree, frames, layout, changes;
let zoom = 0, focus = 0, hover = null; // hover: the box under the pointer (drawing.js)
let search = { query: "", names: null, hits: 0, matched: 0n, at: -1, list: null, error: "" };
let printing = false, drawMs = 0, firstDrawMs = 0, drawQueued = false;
let canvasSize = { width: 0, height: 0 };
let view = { from: 0, span: 1 }, zoomStart = null; // what is drawn; where and when the running zoom began
// sandwich: the name of a function, "": none. tab: the word of the open one. range: of the time axis, [from, to] in ns.
const choice = { weight: "time", split: new Set(), only: {}, join: false, user: false, up: false, byName: false,
	color: "class", sandwich: "", tab: "flame", range: null };

const nameOf = (frame) => profile.names[frames.name[frame]];
const textOf = (frame) => visibleText(nameOf(frame));
const labelOf = (frame) => frame === 0 && !choice.sandwich ? textOf(frame) : labelsOfId(profile, frames.name[frame])[0];
const sumOf = (frame, weight = choice.weight) => exact(sumsOf(frames, weight), frame);

const classOf = (frame) => frame === 0 && !choice.sandwich ? "group" : frame > 0 && frame < frames.nrGroups ? "group" :
	isWaiting(frames.parent[frame]) ? "wait" : classOfId(profile, frames.name[frame]);
// What NCCL's kernels wait for stands right above them.
const isWaiting = (frame) => profile.names[frames.name[frame]].startsWith("[waits for");

function pathOf(frame) {
	const path = [];

	for (; frame !== 0; frame = frames.parent[frame])
		path.unshift(frame);
	return path;
}

const pathText = (frame) => pathOf(frame).map((at) => hashName(nameOf(at)).toString(36)).join(".");
const zoomPath = () => pathText(zoom);

// The zoom's path as it is when frameworks are folded, or up to the first folded frame when they are not any more.
function zoomPathFor(user) {
	const path = [];

	for (const frame of pathOf(zoom)) {
		const framework = frame < frames.nrGroups ? 0 : profile.frameworkOf[frames.name[frame]] ?? 0;
		const name = user && framework ? profile.names[framework] : nameOf(frame);

		if (!user && frameworkNames.has(name))
			break;
		if (!framework || name !== path.at(-1))
			path.push(name);
	}
	return path.map((name) => hashName(name).toString(36)).join(".");
}

function findPath(path) {
	let frame = 0;

	for (const hash of path ? path.split(".") : []) {
		const found = childrenOf(layout, frame).find((under) => hashName(nameOf(under)).toString(36) === hash);

		if (found === undefined || layout.value[found] === 0)
			return 0;
		frame = found;
	}
	return frame;
}
