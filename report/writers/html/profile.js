// The profile as the writer left it in the page: columns decoded, names and their kinds.

const WEIGHTS = ["time", "count", "bytes"];
const DIMENSIONS = ["plane", "job", "step-kind", "host", "rank", "gpu", "context", "stream", "thread"];
const KINDS = ["kernel", "memcpy", "memset", "graph", "sync", "overhead", "um", "module", "memory",
	"cpu", "offcpu", "call", "idle", "python", "native", "api", "group", "unknown", "other"];

// Of what host threads did; their GPU is -2.
const NO_STREAM = 2 ** 32 - 1;

// Sums stay exact beyond 2^53: each number is lo + hi * 2^28, and both parts are summed on their own.
const PART = 2 ** 28;

class ColumnReader {
	constructor(base64) {
		const text = atob(base64);

		this.bytes = new Uint8Array(text.length);
		for (let i = 0; i < text.length; i++)
			this.bytes[i] = text.charCodeAt(i);
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
}

const frameworkNames = new Set();

const unzigzag = (value) => value % 2 ? -(value + 1) / 2 : value / 2;

// An odd number is a text, an even one an id.
function contextName(value, strings) {
	if (value === 2 * NO_STREAM)
		return "no context";
	return value % 2 ? strings[(value - 1) / 2] : `context${value / 2}`;
}

function decodeProfile(profile) {
	const reader = new ColumnReader(profile.columns);
	const { nodes, leaves } = profile;

	profile.nodeParent = Int32Array.from(reader.numbers(nodes), (back, i) => i ? i - back - 1 : 0);
	profile.nodeName = Int32Array.from(reader.numbers(nodes));
	const fields = reader.numbers(profile.dimensions * DIMENSIONS.length);
	profile.rows = Array.from({ length: profile.dimensions }, (_, i) => {
		const [plane, job, step, host, rank, gpu, context, stream, thread] = fields.subarray(i * DIMENSIONS.length);

		return { plane: profile.planes[plane][0], job: profile.strings[job] || "job?",
			"step-kind": profile.strings[step] || "[step] other", host: profile.strings[host], rank: unzigzag(rank), gpu: unzigzag(gpu),
			context: contextName(context, profile.strings), stream, thread };
	});
	let node = 0;
	profile.leafNode = Int32Array.from(reader.numbers(leaves), (delta) => (node += unzigzag(delta)));
	profile.leafName = Int32Array.from(reader.numbers(leaves));
	profile.leafRow = Int32Array.from(reader.numbers(leaves));
	const count = reader.wide(leaves), time = reader.wide(leaves), bytes = reader.wide(leaves);
	profile.values = { time, count, bytes };
	if (profile.diff) {
		const [count, time, bytes] = [reader.wide(leaves), reader.wide(leaves), reader.wide(leaves)];

		profile.before = { time, count, bytes };
	}
	// For each string that of its framework; 0: it is the user's.
	profile.frameworkOf = profile.frameworks ? Int32Array.from(reader.numbers(profile.strings.length)) : [];
	for (const id of new Set(profile.frameworkOf))
		if (id)
			frameworkNames.add(profile.strings[id]);
	profile.nrRanks = new Set(profile.rows.map((row) => row.rank).filter((rank) => rank >= 0)).size;
	profile.names = profile.strings.slice();
	profile.names[profile.nodeName[0]] ||= "all";
	profile.nameIds = new Map();
	profile.kinds = [];
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

// Frames that stand for what is not known; docs/stacks.md lists them.
const notKnown = /^\[(unknown|frames missing|stack |native and Python|subinterpreter|Python code table|not split|gaps)/;

function kindOfName(name) {
	if (name[0] === "[") {
		const host = /^\[(CPU|Off-CPU|GPU_Launch)\]/.exec(name);
		const leaf = /^\[(?:GPU|Host)[^\]]*_(Kernel|Memcpy|Memset|Graph|Sync|Overhead|UM|Module|Memory|Managed|Idle)\]/.exec(name);

		if (host)
			return { "CPU": "cpu", "Off-CPU": "offcpu", "GPU_Launch": "call" }[host[1]];
		if (name === "[captured at]")
			return "graph";
		if (name === "[CUPTI]" || name === "[unified memory]")
			return name === "[CUPTI]" ? "overhead" : "um";
		if (leaf)
			return leaf[1].toLowerCase().replace("managed", "memory");
		return notKnown.test(name) ? "unknown" : "other";
	}
	if (name.includes(".py:"))
		return "python";
	if (/^(cuda|cu|nccl|cudnn|cublas)(Lt)?[A-Z_]/.test(name) && !name.includes("::"))
		return "api";
	return name.includes("::") || name.includes("(") ? "native" : "other";
}

const kindOfId = (profile, id) => profile.kinds[id] ??= kindOfName(profile.names[id]);
