// Search: which names match, how much of what is visible they stand for, and where each one is.

const SLOW = "More than two repetitions, or one within another, could keep this page busy for ever.";

// Whether a regular expression could have so many ways to fit a name that trying them never ends. A link may bring it.
function isSlow(pattern) {
	const groups = []; // those that are open: whether each can fit in several ways
	let varies = false, variedGroup = false, before = "", repetitions = 0, options = 0;

	for (const [piece] of pattern.matchAll(/\\[^]|\[(?:\\[^]|[^\]\\])*\]|\{[\d,]+\}|[^]/g)) {
		const repeats = /^([*+]|\{[\d,]+\})$/.test(piece), may = piece === "?" && !/^([(*+?]|\{.+\})$/.test(before);

		if (repeats && variedGroup)
			return true;
		if (piece === "(") {
			groups.push(varies);
			varies = false;
		}
		variedGroup = piece === ")" && varies;
		if (piece === ")")
			varies = groups.pop() || varies;
		varies ||= repeats || may || piece === "|";
		repetitions += repeats;
		options += may;
		before = piece;
	}
	return repetitions > 2 || options > 8;
}

// "class:gemm" finds a class of work; the bar of classes writes it.
function compileSearch(query) {
	const regex = /^\/(.+)\/(i?)$/.exec(query), wanted = /^class:(\w+)$/.exec(query);

	if (wanted)
		return (name, id) => searchedClass(classOfId(profile, id)) === wanted[1];
	if (regex) {
		const compiled = new RegExp(regex[1], `u${regex[2]}`);

		if (isSlow(regex[1]))
			throw new Error(SLOW);
		return (name) => compiled.test(name);
	}
	const text = query.toLowerCase();
	return (name) => name.toLowerCase().includes(text);
}

function runSearch(query) {
	search = { query, names: null, hits: 0, matched: 0n, at: -1, list: null, error: "" };
	if (query) {
		try {
			const matches = compileSearch(query);
			search.names = Uint8Array.from(profile.names, (name, id) => matches(name, id) ? 1 : 0);
			countMatches();
		} catch (error) {
			search.error = error.message;
		}
	}
	showMatches();
}

function showMatches() {
	const { query, error, hits, at, matched } = search;

	$("search").setAttribute("aria-invalid", String(error !== ""));
	$("matched").textContent = error === SLOW ? "too slow an expression" : error ? "not a regular expression" : !query ? "" : !hits ? "no match" :
		`${at < 0 ? "" : `${grouped(at + 1)}/`}${grouped(hits)} · ${percentText(matched, sumOf(zoom))}`;
	$("matched").title = search.names ? `${grouped(hits)} frames match, with ${weightText(choice.weight, matched)}` : error;
	for (const id of ["previous", "next"])
		$(id).disabled = hits === 0;
}

// Inside the zoomed frame; a frame under a matching one adds nothing, so a path counts once.
function countMatches() {
	const inside = new Uint8Array(frames.nr), covered = new Uint8Array(frames.nr), sums = sumsOf(frames, choice.weight);
	const above = zoom !== 0 && pathOf(zoom).some((frame) => search.names[frames.name[frame]]);
	let lo = 0n, hi = 0n, low = 0, high = 0;

	for (let frame = zoom; frame < frames.nr; frame++) {
		const parent = frames.parent[frame];
		const hit = frame === 0 && !choice.sandwich ? 0 : search.names[frames.name[frame]];

		inside[frame] = frame === zoom || inside[parent] ? 1 : 0;
		if (!inside[frame] || layout.value[frame] === 0)
			continue;
		search.hits += hit;
		const now = hit || (frame === zoom && above) ? 1 : 0;
		covered[frame] = frame === zoom ? now : covered[parent] | now;
		if (!now || (frame !== zoom && covered[parent]) || (frame >= frames.firstCaller && zoom === 0))
			continue;
		low += sums.lo[frame];
		high += sums.hi[frame];
		if (low > 2 ** 52 || high > 2 ** 52) {
			lo += BigInt(low);
			hi += BigInt(high);
			low = high = 0;
		}
	}
	search.matched = (hi + BigInt(high)) * BigInt(PART) + lo + BigInt(low);
}

// From left to right, and along a path from its root.
function listMatches() {
	const inside = new Uint8Array(frames.nr), list = [];

	for (let frame = zoom; frame < frames.nr; frame++) {
		inside[frame] = frame === zoom || inside[frames.parent[frame]] ? 1 : 0;
		if (inside[frame] && search.names[frames.name[frame]] && layout.value[frame] > 0 && (frame !== 0 || choice.sandwich))
			list.push(frame);
	}
	return list.sort((a, b) => layout.x[a] - layout.x[b] || layout.depth[a] - layout.depth[b]);
}

// Selects the next or the previous match. One that is too narrow is zoomed to.
function goToMatch(step) {
	if (!search.hits)
		return;
	search.list ??= listMatches();
	const { list } = search, at = search.at < 0 ? (step > 0 ? 0 : list.length - 1) : (search.at + step + list.length) % list.length;
	const frame = list[at];

	if (!rectOf(frame)) {
		const { query, hits, matched, names } = search;

		zoomTo(frames.parent[frame] !== zoom && rectOf(frames.parent[frame]) ? frames.parent[frame] : frame);
		search = { query, names, hits, matched, list, error: "" }; // the list stays that of what was visible
	}
	search.at = at;
	focusOn(frame);
	showMatches();
}
