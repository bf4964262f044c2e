// What a frame does: its class of work. A class has a word, a label, and the colour --class-WORD of palette.css.

// The classes that a user's rules add have these words here, for their colours, and the user's words as labels.
const OWN_CLASSES = ["own1", "own2", "own3"];

const CLASS_LABELS = {
	nccl: "NCCL", attention: "attention", gemm: "GEMM, convolution", reduction: "reduction, norm", elementwise: "elementwise",
	own1: "", own2: "", own3: "", wait: "waiting", kernel: "other kernel", copy: "copy", memset: "memset", graph: "CUDA graph",
	cpu: "on the CPU", call: "in a CUDA call", idle: "idle GPU", overhead: "overhead", memory: "memory",
	python: "Python", native: "native code", api: "CUDA API", group: "split", unknown: "not known",
};
const GPU_CLASSES = ["gemm", "attention", "elementwise", "reduction", ...OWN_CLASSES, "kernel", "graph", "nccl", "wait", "copy", "memset"];
const CLASSES = Object.keys(CLASS_LABELS);

// Classes that may stand side by side: GPU work and host code, and each class of another plane with host code.
const HOST_CLASSES = ["python", "native", "api", "group", "unknown"];
const NEIGHBOURS = [[...GPU_CLASSES, ...HOST_CLASSES, "hit"],
	...["cpu", "call", "idle", "overhead", "memory"].map((word) => [word, ...HOST_CLASSES, "hit"])];

// Frames that stand for what is not known; docs/stacks.md lists them.
const notKnown = /^\[(unknown|frames missing|stack |native and Python|subinterpreter|Python code table|not split|gaps|no kernel record|other instructions|GPU[^\]]*_(Energy|Use)\]|stall\](unknown|not sampled))/;
const leafPattern = /^\[(?:GPU|Host)[^\]]*_(Kernel|Memcpy|Memset|Graph|Sync|Overhead|UM|Module|Memory|Managed|Idle)\]/;
// A kernel that the writer has not found in a class is another one.
const leafClasses = { Kernel: "kernel", Memcpy: "copy", Memset: "memset", Graph: "graph", Sync: "wait", Overhead: "overhead", UM: "memory",
	Module: "overhead", Memory: "memory", Managed: "memory", Idle: "idle" };
const markClasses = { "[CPU]": "cpu", "[Off-CPU]": "wait", "[GPU_Launch]": "call", "[captured at]": "graph",
	"[CUPTI]": "overhead", "[unified memory]": "memory", "[moves data]": "nccl" };

// The writer has found the classes of kernels by their names: report/names/kernel_class.c has the rules.
function takeClasses(profile) {
	const words = profile.kernelClasses, own = words.filter((word) => !Object.hasOwn(CLASS_LABELS, word));

	own.forEach((label, i) => CLASS_LABELS[OWN_CLASSES[i]] = label);
	for (const [id, number] of profile.kernelsOfClasses)
		profile.classes[id] = OWN_CLASSES[own.indexOf(words[number])] ?? words[number];
}

// What a search for a class is written with.
const searchedClass = (word) => OWN_CLASSES.includes(word) ? CLASS_LABELS[word] : word;

function classOfName(name) {
	if (name[0] === "[") {
		const leaf = leafPattern.exec(name);

		if (leaf)
			return leafClasses[leaf[1]];
		if (name.startsWith("[waits for"))
			return "wait";
		if (name.startsWith("[stall]")) // a warp that was selected has not waited
			return notKnown.test(name) ? "unknown" : /^\[stall\]≈?selected$/.test(name) ? "kernel" : "wait";
		return markClasses[/^\[[^\]]*\]/.exec(name)?.[0]] ?? (notKnown.test(name) ? "unknown" : "native");
	}
	if (name.includes(".py:"))
		return "python";
	return /^(cuda|cu|nccl|cudnn|cublas)(Lt)?[A-Z_]/.test(name) && !name.includes("::") ? "api" : "native";
}

const classOfId = (profile, id) => profile.classes[id] ??= classOfName(profile.names[id]);

// The class of a leaf's work: a kernel of NCCL that waits moves no data.
function classOfLeaf(profile, leaf) {
	const word = classOfId(profile, profile.leafName[leaf]);

	return word === "nccl" ? classOfId(profile, profile.nodeName[profile.leafNode[leaf]]) === "wait" ? "wait" : word : word;
}

// ---- Modules: a framework, a Python file, a library or a namespace ----

const moduleOfId = (profile, id) => profile.modules[id] ??= findModule(profile, id);

function findModule(profile, id) {
	const name = profile.names[id], framework = profile.frameworkOf[id];

	if (framework)
		return profile.names[framework];
	if (frameworkNames.has(name))
		return name;
	if (GPU_CLASSES.includes(classOfId(profile, id)) && name[0] === "[")
		return "GPU work";
	if (name[0] === "[")
		return name;
	return /^(.*\.py):/.exec(name)?.[1] ?? /^(\w+)::/.exec(name)?.[1] ?? /^(cuda|cublas|cudnn|nccl)/.exec(name)?.[1] ?? "other";
}
