// Names as they are shown: short, in one direction, and without characters that cannot be seen.

// Controls, and those that turn the direction of text, become boxes or pictures of themselves.
const unseen = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/;
const ISOLATE = "\u2068", END_ISOLATE = "\u2069";

const visibleText = (name) => name.replace(unseen, (char) => char < " " ? String.fromCharCode(0x2400 + char.charCodeAt(0)) : "▯");

// What is between brackets that are open at depth 0 of a name; parts are [text outside, text inside, …].
function bracketParts(name, open, close) {
	const parts = [""];
	let depth = 0;

	for (let i = 0; i < name.length; i++) {
		const char = name[i];

		if (char === open && depth++ === 0)
			parts.push("");
		else if (char === close && depth > 0 && name[i - 1] !== "-" && --depth === 0)
			parts.push("");
		else
			parts[parts.length - 1] += char;
	}
	return parts;
}

// Without the return type, arguments, and namespaces inside of templates.
function shortCpp(name) {
	const plain = name.replace(/\(anonymous namespace\)::|<unnamed>::/g, "").replace(/^(void|static|bool|int) /, "");
	const [outside] = /operator\(\)|\(lambda/.test(plain) ? [plain] : bracketParts(plain, "(", ")");
	const parts = bracketParts(outside, "<", ">");

	// Within kernels "kernels.cu:helper(float, int):9" keeps its line.
	const line = /\):\d+$/.test(plain) ? plain.slice(plain.lastIndexOf(":")) : "";

	return parts.map((text, i) => i % 2 ? `<${text.replace(/(\w+::)+/g, "")}>` : text).join("").trim() + line || plain;
}

// CUTLASS starts its kernels in a function whose template has the kernel.
const withoutWrapper = (name) => /^cutlass::(Kernel2?|device_kernel)<(.+)>$/.exec(name)?.[2] ?? name;
const shortKernel = (name) => withoutWrapper(shortCpp(name)).replace(/^(at::native::|at::|cuda::|cub::|thrust::)+/, "");
const withoutTemplates = (name) => name.includes("<") && !name.startsWith("<") ?
	bracketParts(name, "<", ">").map((text, i) => i % 2 ? "<…>" : text).join("") : name;

const leafWords = { Memcpy: "copy", Memset: "memset", Graph: "CUDA graph", Sync: "wait", Overhead: "overhead",
	UM: "unified memory", Module: "load", Memory: "memory", Managed: "managed memory", Idle: "idle" };

// A name in full and shorter. The GPU of a leaf is not in it.
function labelsOf(name) {
	const leaf = leafPattern.exec(name);
	const rest = leaf ? name.slice(leaf[0].length) : name.replace(/^\[stall\]/, "");
	const cpp = /[<(:]/.test(rest) && !/\.py:/.test(rest) && rest[0] !== "["; // else templates and arguments mean nothing
	const text = !leaf ? (cpp ? shortCpp(rest) : rest) : leaf[1] === "Kernel" ? shortKernel(rest) || "kernel" :
		`${leafWords[leaf[1]]} ${rest}`.trim();
	const isolated = (label) => {
		const shown = visibleText(label);

		return rightToLeft.test(shown) ? ISOLATE + shown + END_ISOLATE : shown;
	};

	return [isolated(text), isolated(cpp ? withoutTemplates(text) : text)];
}

const labelsOfId = (profile, id) => profile.labels[id] ??= labelsOf(profile.names[id]);
