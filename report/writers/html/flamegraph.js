// How the page changes, the address that keeps its state, and the start. The other files come before this one.

function zoomTo(frame) {
	if (frame !== zoom && !calmMode.matches && !document.hidden)
		zoomStart = { ...view, at: performance.now() };
	zoom = focus = frame;
	hover = -1;
	$("tip").hidden = true;
	afterZoom();
	announce();
}

function afterZoom() {
	runSearch(search.query);
	resize();
	reveal(zoom);
	showPath();
	showDetails();
	saveState();
	queueDraw();
}

function relayOut(path) {
	layout = layOut(frames, profile.names, choice.weight);
	changes = frames.before && changesOf(frames, choice.weight);
	zoom = focus = findPath(path);
	hover = -1;
	zoomStart = null;
	$("empty").hidden = layout.value[0] > 0;
	$("empty").textContent = profile.leaves === 0 ? "This profile has no GPU work." :
		`Nothing here has ${choice.weight === "bytes" ? "bytes" : "this weight"} under the choice above.`;
	afterZoom();
	if (choice.up)
		stage.scrollTop = stage.scrollHeight;
	canvas.setAttribute("aria-label", `Flame graph by ${choice.weight}, ${grouped(frames.nr - 1)} frames. ` +
		"Arrow keys move, Enter zooms, Escape returns.");
}

function remerge(path) {
	frames = mergeFrames(profile, choice.split, choice.only, choice.join, choice.user);
	relayOut(path);
	showLegend();
}

function announce() {
	$("live").textContent = [nameOf(focus).slice(0, 300),
		...figuresOf(focus).map(([label, text]) => `${label} ${text}`)].join(", ");
}

function focusOn(frame) {
	focus = frame;
	hover = -1;
	$("tip").hidden = true;
	reveal(frame);
	showDetails();
	announce();
	queueDraw();
}

// Scrolls as far as needed for the frame's row.
function reveal(frame) {
	const top = rowTop(layout.depth[frame], contentHeight());

	if (top < stage.scrollTop)
		stage.scrollTop = top;
	else if (top + ROW_PX > stage.scrollTop + stage.clientHeight)
		stage.scrollTop = top + ROW_PX - stage.clientHeight;
}

// ---- The address keeps the state ----

// Of several planes the page opens on one, GPU work if that is among them.
const defaults = () => ({ weight: profile.weight, split: profile.split.join(","), user: profile.user && profile.frameworks,
	plane: profile.shownPlanes.length > 1 ? profile.shownPlanes[0] : "" });

function saveState() {
	const state = new URLSearchParams(), split = DIMENSIONS.filter((dimension) => choice.split.has(dimension)).join(",");

	if (choice.weight !== defaults().weight)
		state.set("weight", choice.weight);
	if (split !== defaults().split)
		state.set("split", split);
	for (const dimension of DIMENSIONS)
		if (dimension in choice.only && choice.only[dimension] !== defaults()[dimension])
			state.set(dimension, choice.only[dimension]);
	if (defaults().plane && !("plane" in choice.only))
		state.set("plane", "all");
	if (choice.join)
		state.set("join", "1");
	if (choice.user !== defaults().user)
		state.set("frames", choice.user ? "user" : "all");
	if (choice.up)
		state.set("up", "1");
	if (search.query)
		state.set("search", search.query);
	if (zoom !== 0)
		state.set("zoom", zoomPath());
	if (location.hash.slice(1) !== String(state))
		history.replaceState(null, "", String(state) ? `#${state}` : location.pathname + location.search);
}

function loadState() {
	const state = new URLSearchParams(location.hash.slice(1));
	const split = (state.get("split") ?? defaults().split).split(",");

	choice.weight = WEIGHTS.includes(state.get("weight")) ? state.get("weight") : defaults().weight;
	choice.split = new Set(DIMENSIONS.filter((dimension) => split.includes(dimension)));
	choice.only = {};
	for (const dimension of DIMENSIONS)
		if (profile.rows.some((row) => String(row[dimension]) === state.get(dimension)))
			choice.only[dimension] = state.get(dimension);
	if (!("plane" in choice.only) && state.get("plane") !== "all" && defaults().plane)
		choice.only.plane = defaults().plane;
	choice.join = state.get("join") === "1";
	choice.user = state.has("frames") ? profile.frameworks && state.get("frames") === "user" : defaults().user;
	choice.up = state.get("up") === "1";
	search.query = state.get("search") ?? "";
	$("search").value = search.query;
	for (const input of document.querySelectorAll(".segments input"))
		input.checked = input.name === "weight" ? choice.weight === input.value :
			input.name === "split" ? choice.split.has(input.value) : choice[input.value];
	for (const select of document.querySelectorAll("#only select"))
		select.value = choice.only[select.name] ?? "";
	remerge(state.get("zoom"));
}

// ---- What tests may look at ----

function describe(frame) {
	if (frame < 0)
		return null;
	return { name: nameOf(frame), path: pathOf(frame).map(nameOf), kind: kindOf(frame), rect: rectOf(frame),
		time: String(sumOf(frame, "time")), count: String(sumOf(frame, "count")), bytes: String(sumOf(frame, "bytes")) };
}

const inspection = {
	state: () => ({ weight: choice.weight, split: DIMENSIONS.filter((dimension) => choice.split.has(dimension)),
		only: { ...choice.only }, join: choice.join, user: choice.user, up: choice.up, total: describe(0), zoom: describe(zoom),
		focus: describe(focus), hover: describe(hover), frames: frames.nr, rows: layout.rows.length, drawMs,
		settled: !drawQueued && !zoomStart, search: { query: search.query, frames: search.hits, error: search.error,
			matched: String(search.matched), visible: String(sumOf(zoom)), text: $("matched").textContent } }),
	frameAt: (x, y) => describe(hit(x, y)),
	find: (...path) => describe(Array.from({ length: frames.nr }, (_, frame) => frame).find((frame) =>
		nameOf(frame) === path[path.length - 1] && (path.length === 1 ||
			JSON.stringify(pathOf(frame).map(nameOf)) === JSON.stringify(path))) ?? -1),
	roots: () => Array.from(childrenOf(layout, 0), describe),
	measure: () => {
		draw();
		return drawMs;
	},
};

try {
	profile = decodeProfile(JSON.parse($("profile").textContent));
	readTheme();
	showTotals();
	showLosses();
	showWindows();
	showNotices();
	makeControls();
	loadState();
	listen();
	window.flamegrid = Object.freeze(inspection);
} catch (error) {
	$("failure").hidden = false;
	$("failure").textContent = `This flame graph cannot be shown: ${error.message}`;
	throw error;
}
