// Buttons, boxes, pointer and keys.

const narrowWindow = matchMedia("(max-width: 640px)"); // as in flamegraph.css

function addChoice(parent, type, name, value, label, title) {
	const box = element("label"), input = element("input");

	input.type = type;
	input.name = name;
	input.value = value;
	box.title = title ?? "";
	box.append(input, element("span", label));
	$(parent).append(box);
	return input;
}

const weightLabel = (weight) => profile.resources.find(([resource]) => resource !== "energy" && resource === weight)?.[1] ??
	weight[0].toUpperCase() + weight.slice(1);

function makeControls() {
	const nrValues = (dimension, rows) => new Set(rows.map((row) => row[dimension])).size;
	// Records of the host have no stream, so that alone divides nothing.
	const several = (dimension) => dimension === "plane" ? nrValues(dimension, profile.rows) > 1 :
		profile.planes.some(([name]) => nrValues(dimension, profile.rows.filter((row) => row.plane === name)) > 1);

	for (const weight of profile.weights)
		addChoice("weight", "radio", "weight", weight, weightLabel(weight))
			.addEventListener("change", () => {
				choice.weight = weight;
				relayOut();
			});
	const offered = (dimension) => dimension !== "plane" && (profile.split.includes(dimension) || several(dimension));

	for (const dimension of DIMENSIONS.filter(offered))
		addChoice("split", "checkbox", "split", dimension, DIMENSION_LABELS[dimension])
			.addEventListener("change", (event) => {
				choice.split[event.target.checked ? "add" : "delete"](dimension);
				remerge();
			});
	$("split").hidden = $("split").childElementCount === 1; // its legend
	const addSwitch = (word, label, title, change) =>
		addChoice("shape", "checkbox", "shape", word, label, title).addEventListener("change", (event) => {
			const path = word === "user" ? zoomPathFor(event.target.checked) : undefined;

			choice[word] = event.target.checked;
			change(path);
		});

	if (profile.nrGpus > 1)
		addSwitch("join", "join GPUs", "The work of all GPUs as one", remerge);
	if (profile.frameworks)
		addSwitch("user", "user's frames", "Frames of a framework as one: [torch]", remerge);
	addSwitch("byName", "by name", "Frames by name; else the widest first", relayOut);
	addSwitch("up", "root below", "Flames upward, root at the bottom", relayOut);
	if (!profile.diff)
		for (const color of ["class", "module"])
			addChoice("color", "radio", "color", color, color).addEventListener("change", () => {
				choice.color = color;
				showLegend();
				saveState();
				queueDraw();
			});
	$("color").hidden = Boolean(profile.diff);
	$("more").open = !narrowWindow.matches;
	narrowWindow.addEventListener("change", () => ($("more").open = !narrowWindow.matches));
	DIMENSIONS.filter((dimension) => dimension !== "thread" && several(dimension)).forEach(makeFilter);
}

// Only some planes move bytes, and where nothing does, that is no width. A page that opens by bytes keeps them.
function offerBytes() {
	const { plane } = choice.only, { bytesPlanes } = profile;
	const has = profile.weight === "bytes" || (plane ? bytesPlanes.has(plane) : bytesPlanes.size > 0);

	document.querySelector("#weight input[value=bytes]").parentElement.hidden = !has;
	if (has || choice.weight !== "bytes")
		return;
	choice.weight = profile.weight;
	setSwitches();
}

function makeFilter(dimension) {
	const select = element("select"), values = new Map();

	for (const row of profile.rows)
		values.set(String(row[dimension]), dimensionName(dimension, row[dimension]));
	select.name = dimension;
	select.setAttribute("aria-label", `Only this ${DIMENSION_LABELS[dimension]}`);
	select.append(new Option(`any ${DIMENSION_LABELS[dimension]}`, ""));
	for (const [value, name] of [...values].sort((a, b) => collator.compare(a[1], b[1])))
		select.append(new Option(name.slice(0, 80), value));
	select.addEventListener("change", () => {
		if (select.selectedIndex === 0)
			delete choice.only[dimension];
		else
			choice.only[dimension] = select.value;
		remerge();
	});
	$("only").append(select);
	$("only").hidden = false;
}

function setSearch(query) {
	$("search").value = query;
	if (query && choice.tab !== "flame")
		openTab("flame");
	runSearch(query);
	saveState();
	queueDraw();
}

// ---- Pointer and keys ----

function setHover(box) {
	if (hover?.frame === box?.frame && hover?.nr === box?.nr)
		return;
	hover = box;
	canvas.style.cursor = hover ? "pointer" : "default";
	$("tip").hidden = true;
	drawOverlay();
}

function listenToPointer() {
	canvas.addEventListener("pointermove", (event) => {
		setHover(event.pointerType === "mouse" ? boxAt(event.offsetX, event.offsetY) : null);
		showTip(event);
	});
	canvas.addEventListener("pointerleave", () => setHover(null));
	canvas.addEventListener("click", (event) => {
		const box = boxAt(event.offsetX, event.offsetY);

		canvas.focus({ preventScroll: true });
		if (box)
			focusOn(box.frame);
	});
	canvas.addEventListener("dblclick", () => zoomTo(focus));
	canvas.addEventListener("focus", drawOverlay);
	canvas.addEventListener("blur", drawOverlay);
	stage.addEventListener("scroll", () => {
		setHover(null);
		queueDraw();
	}, { passive: true });
}

// The next frame in a row that is wide enough to be seen, else the same frame.
function beside(frame, step) {
	const row = layout.rows[layout.depth[frame]];

	for (let at = row.indexOf(frame) + step; row[at] !== undefined; at += step)
		if (rectOf(row[at]))
			return row[at];
	return frame;
}

// The first visible frame on the outer side of a frame: below it, or above it among callers.
function outward(frame, callers = frame >= frames.firstCaller) {
	const next = childrenOf(layout, frame).find((child) => layout.value[child] > 0 && (child >= frames.firstCaller) === callers);

	return next !== undefined && rectOf(next) ? next : frame;
}

// One row up or down on the screen.
function vertical(frame, down) {
	if (frame === 0)
		return outward(0, layout.center > 0 && !down);
	const away = frame >= frames.firstCaller || isUpward() ? !down : down;

	return away ? outward(frame) : frames.parent[frame];
}

const keyActions = {
	ArrowLeft: () => focusOn(beside(focus, -1)),
	ArrowRight: () => focusOn(beside(focus, 1)),
	ArrowUp: () => focusOn(vertical(focus, false)),
	ArrowDown: () => focusOn(vertical(focus, true)),
	Enter: () => zoomTo(focus),
	"+": () => zoomTo(focus),
	Backspace: () => zoomTo(frames.parent[zoom]),
	"-": () => zoomTo(frames.parent[zoom]),
	Home: () => zoomTo(0),
	Escape: () => search.query ? setSearch("") : zoom !== 0 ? zoomTo(frames.parent[zoom]) : choice.sandwich ? closeSandwich() : focusOn(0),
	n: () => goToMatch(1),
	N: () => goToMatch(-1),
	s: () => toggleSandwich(),
};

function onKey(event) {
	const at = document.activeElement, action = keyActions[event.key];
	const toSearch = event.key === "f" && (event.ctrlKey || event.metaKey) || event.key === "/";

	if (at === $("search")) {
		if (event.key === "Escape" || event.key === "Enter") {
			event.preventDefault();
			if (event.key === "Enter")
				goToMatch(event.shiftKey ? -1 : 1);
			else
				setSearch("");
		}
		if (event.key === "Escape")
			canvas.focus({ preventScroll: true });
		return; // a second Ctrl F is the browser's own
	}
	if (toSearch && at.tagName !== "SELECT") {
		event.preventDefault();
		$("search").focus();
		$("search").select();
	} else if (action && !event.ctrlKey && !event.metaKey && !event.altKey &&
		   choice.tab === "flame" && (at === canvas || at === document.body || event.key === "Escape")) {
		event.preventDefault();
		canvas.focus({ preventScroll: true });
		action();
	}
}

// A link with the page's state. Without leave to use the clipboard, the link stands where it can be copied by hand.
async function copyLink() {
	try {
		writeState();
		await navigator.clipboard.writeText(location.href);
		say("Link copied: it opens the page as it is now.");
	} catch {
		say("Copy the address of this page: it opens the page as it is now.");
	}
}

function say(text) {
	$("said").textContent = text;
	setTimeout(() => ($("said").textContent = ""), 6000);
}

function refit() {
	resize();
	queueDraw();
}

function retheme() {
	readTheme();
	showLegend();
	refit();
	drawTimes();
}

function setPrinting(on) {
	printing = on;
	document.documentElement.classList.toggle("printing", on);
	readTheme();
	showLegend();
	resize();
	view = target();
	drawTimes();
	draw(); // at once: the page is printed before the next animation frame
}

function listen() {
	listenToPointer();
	listenToTimes();
	document.addEventListener("keydown", onKey);
	$("search").addEventListener("input", (event) => setSearch(event.target.value));
	$("next").addEventListener("click", () => goToMatch(1));
	$("previous").addEventListener("click", () => goToMatch(-1));
	$("zoom-in").addEventListener("click", () => zoomTo(focus));
	$("sandwich").addEventListener("click", toggleSandwich);
	$("copy").addEventListener("click", copyLink);
	new ResizeObserver(() => printing || refit()).observe(stage);
	darkMode.addEventListener("change", retheme);
	addEventListener("beforeprint", () => setPrinting(true));
	addEventListener("afterprint", () => setPrinting(false));
	addEventListener("hashchange", () => loadState());
}
