// How the page changes, the address that keeps its state, and the start. The other files come before this one.

function zoomTo(frame) {
	if (frame !== zoom && !calmMode.matches && !document.hidden)
		zoomStart = { ...view, at: performance.now() };
	zoom = focus = frame;
	hover = null;
	$("tip").hidden = true;
	afterZoom();
	announce();
}

function afterZoom() {
	runSearch(search.query);
	resize();
	reveal(zoom);
	showPath();
	queueDetails();
	saveState();
	queueDraw();
}

// Makes what is shown. A merge is needed if filters or dimensions changed, else only an order or a sandwich.
function* prepare(merge, isSketch) {
	const whole = merge ? yield* mergeFrames(profile, choice, isSketch) : tree;
	const id = choice.sandwich ? sandwichId(whole) : -1;
	const shown = id < 0 ? whole : yield* sandwichFrames(whole, id);

	for (const weight of isSketch ? [choice.weight] : Object.keys(profile.values)) {
		sumsOf(shown, weight);
		yield;
	}
	return { whole, shown, placed: yield* layOut(shown, profile.names, choice.weight, choice.byName), sandwiched: id >= 0 };
}

const sandwichId = (whole) => whole.name.find((id, frame) => frame >= whole.nrGroups && profile.names[id] === choice.sandwich) ?? -1;

// done is called when something is drawn. A large profile is drawn as a sketch until it is merged.
function show(merge, path, selected, done) {
	offerBytes();
	const isSketch = (merge || tree.isSketch) && profile.nodes + profile.leaves >= SKETCH_FROM && !choice.sandwich;

	runTask(prepare(merge || tree.isSketch, isSketch), (made) => {
		place(made, path, selected);
		showAround(merge);
		done?.();
		if (!isSketch)
			return;
		const sketched = { zoom, focus };
		runTask(prepare(true, false), (whole) => {
			if (zoom === sketched.zoom && focus === sketched.focus)
				place(whole, path, selected);
			else
				place(whole, zoomPath(), pathText(focus));
			showAround(false);
		}, 0);
	});
}

function place({ whole, shown, placed, sandwiched }, path, selected) {
	tree = whole;
	frames = shown;
	layout = placed;
	choice.sandwich = sandwiched ? choice.sandwich : "";
	changes = profile.diff && changesOf(frames, choice.weight);
	zoom = findPath(path);
	focus = selected ? findPath(selected) : zoom;
	hover = null;
	zoomStart = null;
	moduleColors.clear();
	afterZoom();
}

// What depends on the filters and on what is shown.
function showAround(merged) {
	$("empty").hidden = layout.value[0] > 0;
	$("empty").textContent = profile.leaves === 0 ? "This profile has no GPU work." :
		`Nothing here has ${choice.weight === "bytes" ? "bytes" : "this weight"} under the choice above.`;
	stage.scrollTop = isUpward() ? stage.scrollHeight : layout.center > 0 ?
		(layout.center + 1.5) * ROW_PX - stage.clientHeight / 2 : stage.scrollTop;
	canvas.setAttribute("aria-label", (choice.sandwich ? `Callers and callees of ${visibleText(choice.sandwich).slice(0, 200)}` :
		`Flame graph by ${choice.weight}, ${grouped(frames.nr - 1)} frames`) + ". Arrow keys move, Enter zooms, Escape returns.");
	showLegend();
	if (merged)
		showClassBar();
	if (merged || choice.tab === "flame") // tables depend on filters alone
		openTab(choice.tab);
}

const relayOut = (path) => show(false, path ?? zoomPath());
const remerge = (path) => show(true, path ?? zoomPath());

function openSandwich(id) {
	// A table's name stands for the leaves of all GPUs; those have it only if they are joined.
	choice.join ||= /^\[GPU_/.test(profile.names[id]);
	choice.sandwich = profile.names[id];
	choice.tab = "flame";
	setSwitches();
	openTab("flame");
	canvas.focus({ preventScroll: true });
	remerge("");
}

function closeSandwich() {
	choice.sandwich = "";
	relayOut("");
}

function toggleSandwich() {
	canvas.focus({ preventScroll: true });
	if (choice.sandwich)
		closeSandwich();
	else if (focus >= frames.nrGroups) {
		choice.sandwich = nameOf(focus);
		relayOut("");
	}
}

function announce() {
	$("live").textContent = [textOf(focus).slice(0, 300),
		...figuresOf(focus).map(([label, text]) => `${label} ${text}`)].join(", ");
}

function focusOn(frame) {
	focus = frame;
	hover = null;
	$("tip").hidden = true;
	reveal(frame);
	queueDetails();
	announce();
	saveState();
	queueDraw();
}

let detailsQueued = false;

// The sums of a large profile take longer than a frame: its graph is drawn first.
function queueDetails() {
	if (profile.nodes + profile.leaves < SKETCH_FROM) {
		showDetails();
		return;
	}
	if (!detailsQueued)
		afterFrame(() => {
			detailsQueued = false;
			showDetails();
		});
	detailsQueued = true;
}

// Scrolls as far as needed for the frame's row.
function reveal(frame) {
	const top = rowTop(layout.depth[frame], contentHeight(), shownRows().first);

	if (top < stage.scrollTop)
		stage.scrollTop = top;
	else if (top + ROW_PX > stage.scrollTop + stage.clientHeight)
		stage.scrollTop = top + ROW_PX - stage.clientHeight;
}

// ---- The address keeps the state ----

// Of several planes the page opens on one, GPU work if that is among them.
const defaults = () => ({ weight: profile.weight, split: profile.split.join(","), user: profile.user && profile.frameworks,
	join: profile.nrGpus > 1 && !profile.split.includes("gpu"),
	plane: profile.shownPlanes.length > 1 ? profile.shownPlanes[0] : "" });

const SAVE_MS = 250; // browsers refuse an address that changes more often
let savedAt = -SAVE_MS, saveTimer = 0;
// Back leads to the tab or the sandwich before; zooms and filters are no places of their own.
let savedPlace = "";
const placeOf = () => `${choice.tab} ${choice.sandwich}`;

function saveState() {
	if (saveTimer)
		return;
	if (performance.now() - savedAt >= SAVE_MS)
		writeState();
	else
		saveTimer = setTimeout(writeState, SAVE_MS);
}

function writeState() {
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
	if (choice.join !== defaults().join)
		state.set("join", choice.join ? "1" : "0");
	if (choice.user !== defaults().user)
		state.set("frames", choice.user ? "user" : "all");
	if (choice.up)
		state.set("up", "1");
	if (choice.byName)
		state.set("order", "name");
	if (choice.color !== "class")
		state.set("color", choice.color);
	if (choice.sandwich)
		state.set("sandwich", choice.sandwich);
	if (choice.tab !== "flame")
		state.set("tab", choice.tab);
	if (search.query)
		state.set("search", search.query);
	if (choice.range)
		state.set("time", choice.range.map(secondsText).join("-"));
	if (zoom !== 0)
		state.set("zoom", zoomPath());
	if (focus !== zoom)
		state.set("at", pathText(focus));
	clearTimeout(saveTimer);
	saveTimer = 0;
	savedAt = performance.now();
	const place = placeOf(), address = String(state) ? `#${state}` : location.pathname + location.search;

	if (place !== savedPlace)
		history.pushState(null, "", address);
	else if (location.hash.slice(1) !== String(state))
		history.replaceState(null, "", address);
	savedPlace = place;
}

function loadState(done) {
	const state = new URLSearchParams(location.hash.slice(1));
	const split = (state.get("split") ?? defaults().split).split(",");

	clearTimeout(saveTimer);
	saveTimer = 0;
	choice.weight = profile.weights.includes(state.get("weight")) ? state.get("weight") : defaults().weight;
	choice.split = new Set(DIMENSIONS.filter((dimension) => split.includes(dimension)));
	choice.only = {};
	for (const dimension of DIMENSIONS)
		if (profile.rows.some((row) => String(row[dimension]) === state.get(dimension)))
			choice.only[dimension] = state.get(dimension);
	if (!("plane" in choice.only) && state.get("plane") !== "all" && defaults().plane)
		choice.only.plane = defaults().plane;
	choice.join = state.has("join") ? state.get("join") === "1" : defaults().join;
	choice.user = state.has("frames") ? profile.frameworks && state.get("frames") === "user" : defaults().user;
	choice.up = state.get("up") === "1";
	choice.byName = state.get("order") === "name";
	choice.color = state.get("color") === "module" && !profile.diff ? "module" : "class";
	choice.sandwich = state.get("sandwich") ?? "";
	choice.tab = state.get("tab") ?? "flame";
	choice.range = rangeOf(state.get("time"));
	savedPlace = placeOf();
	search.query = state.get("search") ?? "";
	$("search").value = search.query;
	setSwitches();
	showRange();
	show(true, state.get("zoom"), state.get("at"), done);
}

function setSwitches() {
	for (const input of document.querySelectorAll(".segments input"))
		input.checked = input.name === "weight" || input.name === "color" ? choice[input.name] === input.value :
			input.name === "split" ? choice.split.has(input.value) : choice[input.value];
	for (const select of document.querySelectorAll("#only select"))
		select.value = choice.only[select.name] ?? "";
}

// ---- What tests may look at ----

function describe(frame) {
	if (frame < 0)
		return null;
	return { name: nameOf(frame), label: labelOf(frame), path: pathOf(frame).map(nameOf), class: classOf(frame), rect: rectOf(frame),
		time: String(sumOf(frame, "time")), count: String(sumOf(frame, "count")), bytes: String(sumOf(frame, "bytes")) };
}

const describeBox = (box) => box && { ...describe(box.frame), nr: box.nr, value: box.value, rect: box.rect };

const isDrawn = () => Boolean(layout) && !drawQueued && !detailsQueued && !zoomStart && !task;

const inspection = {
	state: () => ({ weight: choice.weight, split: DIMENSIONS.filter((dimension) => choice.split.has(dimension)),
		only: { ...choice.only }, join: choice.join, user: choice.user, up: choice.up, byName: choice.byName, color: choice.color,
		sandwich: choice.sandwich, tab: choice.tab, total: describe(0), zoom: describe(zoom),
		focus: describe(focus), hover: describeBox(hover), frames: frames.nr, rows: layout.rows.length,
		isSketch: tree.isSketch, drawMs, firstDrawMs,
		search: { query: search.query, frames: search.hits, error: search.error, at: search.at,
			matched: String(search.matched), visible: String(sumOf(zoom)), text: $("matched").textContent } }),
	drawn: isDrawn,
	settled: () => isDrawn() && !saveTimer,
	frameAt: (x, y) => describeBox(boxAt(x, y)),
	find: (...path) => describe(Array.from({ length: frames.nr }, (_, frame) => frame).find((frame) =>
		nameOf(frame) === path[path.length - 1] && (path.length === 1 ||
			JSON.stringify(pathOf(frame).map(nameOf)) === JSON.stringify(path))) ?? -1),
	roots: () => Array.from(childrenOf(layout, 0), describe),
	// The boxes of a row: [names of its frames …] each.
	boxes: (depth) => {
		const found = [];

		visitBoxes(depth, target(), (at, end, left, right) => {
			found.push({ left, right, names: Array.from(layout.rows[depth].subarray(at, end), nameOf) });
		});
		return found;
	},
	// Where the boxes of all rows end, as drawing finds them, or each row by itself.
	ends: (drawn) => {
		let edges = null;

		return layout.rows.map((row, depth) => {
			const found = [];

			edges = visitBoxes(depth, target(), (at, end) => {
				found.push(end);
			}, drawn && depth > layout.center ? edges : null);
			return found;
		});
	},
	measure: () => {
		draw();
		return drawMs;
	},
	classOf: classOfName,
	labelsOf,
	fit: (name, width) => fitText(labelsOf(name), width),
	neighbours: () => NEIGHBOURS,
	times: describeTimes,
};

async function start() {
	try {
		profile = decodeProfile(await unpackProfile($("profile").textContent.trim()));
		readTheme();
		showTotals();
		showLosses();
		showWindows();
		showAdvice();
		showPart();
		makeControls();
		makeTimes();
		makeTabs();
		loadState(() => {
			listen();
			window.flamegrid = Object.freeze(inspection);
		});
	} catch (error) {
		$("failure").hidden = false;
		$("failure").textContent = `This flame graph cannot be shown: ${error.message}`;
		throw error;
	}
}

start();
