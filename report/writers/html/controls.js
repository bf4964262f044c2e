// Buttons, boxes, pointer and keys.

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

function makeControls() {
	const several = (dimension) => new Set(profile.rows.map((row) => row[dimension])).size > 1;

	for (const weight of WEIGHTS)
		addChoice("weight", "radio", "weight", weight, weight[0].toUpperCase() + weight.slice(1))
			.addEventListener("change", () => {
				choice.weight = weight;
				relayOut(zoomPath());
			});
	const offered = (dimension) => dimension !== "plane" && (dimension !== "step-kind" || profile.steps);

	for (const dimension of DIMENSIONS.filter(offered))
		addChoice("split", "checkbox", "split", dimension, DIMENSION_LABELS[dimension])
			.addEventListener("change", (event) => {
				choice.split[event.target.checked ? "add" : "delete"](dimension);
				remerge(zoomPath());
			});
	if (new Set(profile.rows.map((row) => row.gpu).filter((gpu) => gpu >= -1)).size > 1)
		addChoice("shape", "checkbox", "shape", "join", "join GPUs", "Leaves of all GPUs as one: [GPU_Kernel]…")
			.addEventListener("change", (event) => {
				choice.join = event.target.checked;
				remerge(zoomPath());
			});
	if (profile.frameworks)
		addChoice("shape", "checkbox", "shape", "user", "user's frames", "Frames of a framework as one: [torch]")
			.addEventListener("change", (event) => {
				const path = zoomPathFor(event.target.checked);

				choice.user = event.target.checked;
				remerge(path);
			});
	addChoice("shape", "checkbox", "shape", "up", "root below", "Flames upward, root at the bottom")
		.addEventListener("change", (event) => {
			choice.up = event.target.checked;
			relayOut(zoomPath());
		});
	DIMENSIONS.filter((dimension) => dimension !== "thread" && several(dimension)).forEach(makeFilter);
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
		remerge(zoomPath());
	});
	$("only").append(select);
	$("only").hidden = false;
}

function setSearch(query) {
	$("search").value = query;
	runSearch(query);
	saveState();
	queueDraw();
}

// ---- Pointer and keys ----

function listenToPointer() {
	canvas.addEventListener("pointermove", (event) => {
		const under = event.pointerType === "mouse" ? hit(event.offsetX, event.offsetY) : -1;

		if (under !== hover) {
			hover = under;
			canvas.style.cursor = hover >= 0 ? "pointer" : "default";
			showDetails();
			queueDraw();
		}
		showTip(event);
	});
	canvas.addEventListener("pointerleave", () => {
		hover = -1;
		$("tip").hidden = true;
		showDetails();
		queueDraw();
	});
	canvas.addEventListener("click", (event) => {
		const under = hit(event.offsetX, event.offsetY);

		canvas.focus({ preventScroll: true });
		if (under >= 0)
			zoomTo(under);
	});
	canvas.addEventListener("focus", queueDraw);
	canvas.addEventListener("blur", queueDraw);
	stage.addEventListener("scroll", () => {
		hover = -1;
		$("tip").hidden = true;
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

function below(frame) {
	const under = childrenOf(layout, frame).find((child) => layout.value[child] > 0);

	return under !== undefined && rectOf(under) ? under : frame;
}

const keyActions = {
	ArrowLeft: () => focusOn(beside(focus, -1)),
	ArrowRight: () => focusOn(beside(focus, 1)),
	ArrowUp: () => focusOn(choice.up ? below(focus) : frames.parent[focus]),
	ArrowDown: () => focusOn(choice.up ? frames.parent[focus] : below(focus)),
	Enter: () => zoomTo(focus),
	"+": () => zoomTo(focus),
	Backspace: () => zoomTo(frames.parent[zoom]),
	"-": () => zoomTo(frames.parent[zoom]),
	Home: () => zoomTo(0),
	Escape: () => search.query ? setSearch("") : zoomTo(0),
};

function onKey(event) {
	const at = document.activeElement, action = keyActions[event.key];
	const toSearch = event.key === "f" && (event.ctrlKey || event.metaKey) || event.key === "/";

	if (at === $("search")) {
		if (event.key === "Escape" || event.key === "Enter") {
			event.preventDefault();
			if (event.key === "Escape")
				setSearch("");
			canvas.focus({ preventScroll: true });
		}
		return; // a second Ctrl F is the browser's own
	}
	if (toSearch && at.tagName !== "SELECT") {
		event.preventDefault();
		$("search").focus();
		$("search").select();
	} else if (action && !event.ctrlKey && !event.metaKey && !event.altKey &&
		   (at === canvas || at === document.body || event.key === "Escape")) {
		event.preventDefault();
		canvas.focus({ preventScroll: true });
		action();
	}
}

function refit() {
	resize();
	queueDraw();
}

function retheme() {
	readTheme();
	showLegend();
	refit();
}

function setPrinting(on) {
	printing = on;
	document.documentElement.classList.toggle("printing", on);
	readTheme();
	showLegend();
	resize();
	view = target();
	draw(); // at once: the page is printed before the next animation frame
}

function listen() {
	listenToPointer();
	document.addEventListener("keydown", onKey);
	$("search").addEventListener("input", (event) => setSearch(event.target.value));
	new ResizeObserver(() => printing || refit()).observe(stage);
	darkMode.addEventListener("change", retheme);
	addEventListener("beforeprint", () => setPrinting(true));
	addEventListener("afterprint", () => setPrinting(false));
	addEventListener("hashchange", loadState);
}
