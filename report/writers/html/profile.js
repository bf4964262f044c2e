// The profile as the writer left it in the page: columns decoded, names and their kinds.

const UNSURE = [" medium", " low"];
const WEIGHTS = ["time", "count", "bytes"]; // and resources, in a page of their plane
const DIMENSIONS = ["plane", "job", "step-kind", "host", "rank", "gpu", "context", "stream", "thread"];

// Of what host threads did; their GPU is -2.
const NO_STREAM = 2 ** 32 - 1;

// Sums stay exact beyond 2^53: each number is lo + hi * 2^28, and both parts are summed on their own.
const PART = 2 ** 28;

class ColumnReader {
	constructor(bytes) {
		this.bytes = bytes;
		this.at = 0;
		this.hi = 0;
	}

	// The low 28 bits; the rest is in this.hi.
	varint() {
		let lo = 0, scale = 1, byte = 0x80;

		this.hi = 0;
		for (let i = 0; i < 4 && byte >= 0x80; i++, scale *= 128) {
			byte = this.bytes[this.at++];
			lo += (byte & 0x7f) * scale;
		}
		for (scale = 1; byte >= 0x80; scale *= 128) {
			byte = this.bytes[this.at++];
			this.hi += (byte & 0x7f) * scale;
		}
		if (this.at > this.bytes.length)
			throw new Error("the profile in this file is cut short");
		return lo;
	}

	wide(length) {
		const column = { lo: new Float64Array(length), hi: new Float64Array(length) };

		for (let i = 0; i < length; i++) {
			const lo = this.varint();

			if (lo === 0 && this.hi === 0) {
				i += this.number();
				continue;
			}
			column.lo[i] = lo;
			column.hi[i] = this.hi;
		}
		return column;
	}

	number() {
		const lo = this.varint();

		return lo + this.hi * PART;
	}

	numbers(length) {
		const { lo, hi } = this.wide(length);

		return lo.map((low, i) => low + hi[i] * PART);
	}

	// The same for numbers below 2^28, without a column of high parts.
	small(length) {
		const column = new Int32Array(length);

		for (let i = 0; i < length; i++) {
			const byte = this.bytes[this.at];

			if (byte > 0 && byte < 0x80) { // most numbers are one byte
				column[i] = byte;
				this.at++;
				continue;
			}
			const value = this.varint();

			if (value === 0)
				i += this.number();
			else
				column[i] = value;
		}
		if (this.at > this.bytes.length)
			throw new Error("the profile in this file is cut short");
		return column;
	}
}

// The profile's JSON, a NUL, and its columns.
async function unpackProfile(base64) {
	const packed = Uint8Array.fromBase64?.(base64) ?? Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
	const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
	const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
	const end = bytes.indexOf(0);

	return { ...JSON.parse(new TextDecoder().decode(bytes.subarray(0, end))), columns: bytes.subarray(end + 1) };
}

const frameworkNames = new Set();

const unzigzag = (value) => value % 2 ? -(value + 1) / 2 : value / 2;
const unzigzagSmall = (value) => value >>> 1 ^ -(value & 1); // below 2^31

// An odd number is a text, an even one an id.
function contextName(value, strings) {
	if (value === 2 * NO_STREAM)
		return "no context";
	return value % 2 ? strings[(value - 1) / 2] : `context${value / 2}`;
}

function decodeProfile(profile) {
	const reader = new ColumnReader(profile.columns);
	const { nodes, leaves } = profile;

	profile.nodeParent = reader.small(nodes);
	for (let i = 1; i < nodes; i++)
		profile.nodeParent[i] = i - profile.nodeParent[i] - 1;
	profile.nodeName = reader.small(nodes);
	const fields = reader.numbers(profile.dimensions * DIMENSIONS.length);
	profile.rows = Array.from({ length: profile.dimensions }, (_, i) => {
		const [plane, job, step, host, rank, gpu, context, stream, thread] = fields.subarray(i * DIMENSIONS.length);

		return { plane: profile.planes[plane][0], job: profile.strings[job] || "job?",
			"step-kind": profile.strings[step] || "[step] other", host: profile.strings[host], rank: unzigzag(rank), gpu: unzigzag(gpu),
			context: contextName(context, profile.strings), stream, thread };
	});
	profile.leafNode = reader.small(leaves);
	for (let i = 0, node = 0; i < leaves; i++)
		profile.leafNode[i] = node += unzigzagSmall(profile.leafNode[i]);
	profile.leafName = reader.small(leaves);
	profile.leafRow = reader.small(leaves);
	const count = reader.wide(leaves), time = reader.wide(leaves), bytes = reader.wide(leaves);
	profile.values = { time, count, bytes };
	profile.bytesPlanes = new Set();
	for (let i = 0; i < leaves; i++)
		if (bytes.lo[i] > 0 || bytes.hi[i] > 0)
			profile.bytesPlanes.add(profile.rows[profile.leafRow[i]].plane);
	// Parts of a resource that are not sure are values of their own, which no choice shows.
	for (const [resource] of profile.resources)
		for (const part of ["", ...UNSURE])
			profile.values[resource + part] = reader.wide(leaves);
	profile.weights = [...profile.resources.map(([resource]) => resource), ...WEIGHTS];
	profile.unitOf = Object.fromEntries(profile.resources.map(([resource, , unit]) => [resource, unit]));
	if (profile.diff) {
		const [count, time, bytes] = [reader.wide(leaves), reader.wide(leaves), reader.wide(leaves)];

		profile.before = { time, count, bytes };
	}
	// For each string that of its framework; 0: it is the user's.
	profile.frameworkOf = profile.frameworks ? reader.small(profile.strings.length) : [];
	profile.durations = profile.hasDurations ? decodeDurations(reader, leaves) : null;
	if (profile.timeline)
		decodeTimes(reader, profile.timeline);
	for (const id of new Set(profile.frameworkOf))
		if (id)
			frameworkNames.add(profile.strings[id]);
	profile.ranks = [...new Set(profile.rows.map((row) => row.rank).filter((rank) => rank >= 0))].sort((a, b) => a - b);
	profile.names = profile.strings.slice();
	profile.names[profile.nodeName[0]] ||= "all";
	profile.nameIds = new Map();
	profile.classes = [];
	takeClasses(profile);
	profile.labels = [];
	profile.modules = [];
	profile.joined = [];
	profile.nrGpus = new Set(profile.rows.filter((row) => row.gpu >= -1).map((row) => `${row.host} ${row.gpu}`)).size;
	profile.shownPlanes = profile.planes.map(([name]) => name).filter((name) =>
		profile.rows.some((row) => row.plane === name));
	delete profile.columns;
	return profile;
}

// The id of a name that the viewer itself made.
function internName(profile, name) {
	let id = profile.nameIds.get(name);

	if (id === undefined) {
		id = profile.names.push(name) - 1;
		profile.nameIds.set(name, id);
	}
	return id;
}

function dimensionName(dimension, value) {
	switch (dimension) {
	case "plane": return profile.planes.find(([name]) => name === value)[1];
	case "rank": return value < 0 ? "rank?" : `rank${value}`;
	case "gpu": return value < -1 ? "no GPU" : value < 0 ? "GPU?" : `GPU${value}`;
	case "stream": return value === NO_STREAM ? "no stream" : `stream${value}`;
	case "thread": return value === 0 ? "thread ?" : `thread ${value}`;
	default: return value;
	}
}
