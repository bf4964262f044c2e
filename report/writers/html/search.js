// Search: which names match, and how much of what is visible they stand for.

function compileSearch(query) {
	const regex = /^\/(.+)\/(i?)$/.exec(query);

	if (regex) {
		const compiled = new RegExp(regex[1], `u${regex[2]}`);

		return (name) => compiled.test(name);
	}
	const text = query.toLowerCase();
	return (name) => name.toLowerCase().includes(text);
}

function runSearch(query) {
	search = { query, names: null, hits: 0, matched: 0n, error: "" };
	if (query) {
		try {
			const matches = compileSearch(query);
			search.names = Uint8Array.from(profile.names, (name) => matches(name) ? 1 : 0);
			countMatches();
		} catch (error) {
			search.error = error.message;
		}
	}
	$("search").setAttribute("aria-invalid", String(search.error !== ""));
	$("matched").textContent = search.error ? "not a regular expression" : !query ? "" : !search.hits ? "no match" :
		`${percentText(search.matched, sumOf(zoom))} matched`;
	$("matched").title = search.names ? `${grouped(search.hits)} frames, ` +
		weightText(choice.weight, search.matched) : search.error;
}

// Inside the zoomed frame; a frame under a matching one adds nothing, so a path counts once.
function countMatches() {
	const inside = new Uint8Array(frames.nr), covered = new Uint8Array(frames.nr);
	const above = pathOf(zoom).some((frame) => search.names[frames.name[frame]]);

	for (let frame = zoom; frame < frames.nr; frame++) {
		const parent = frames.parent[frame];
		const hit = search.names[frames.name[frame]];

		inside[frame] = frame === zoom || inside[parent] ? 1 : 0;
		if (!inside[frame] || layout.value[frame] === 0)
			continue;
		search.hits += hit;
		const before = frame === zoom ? 0 : covered[parent];
		const now = hit || (frame === zoom && above) ? 1 : 0;
		if (now && !before)
			search.matched += sumOf(frame);
		covered[frame] = before | now;
	}
}
