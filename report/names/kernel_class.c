#include "kernel_class.h"

#include <errno.h>
#include <pthread.h>
#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/error_text.h"

#define ERROR_SIZE 128u
#define NESTED_MAX 8u

/* The built-in rules are in the order of their classes. */
static const struct class
{
	const char *word, *pattern;
} classes[KERNEL_CLASS_OWN] = {
	[KERNEL_CLASS_NCCL] = {"nccl", "nccl|rccl|nvshmem"},
	[KERNEL_CLASS_ATTENTION] = {"attention",
				    "flash|fmha|attention|attn|mha_|sdpa|xqa|paged_kv"},
	[KERNEL_CLASS_GEMM] = {"gemm", "gemm|gemv|nvjet|cutlass|xmma|cublas|[hid]mma|matmul|"
				       "conv([^e]|$)|"
				       "winograd|[wd]grad|split_?k|triton_mm|_mm_"},
	[KERNEL_CLASS_REDUCTION] =
		{"reduction", "reduc|norm|gammabeta|softmax|entropy|welford|arg(max|min)|scan|"
			      "triton_(red|per)_|(sum|mean|var)(_|Ops|<|$)"},
	[KERNEL_CLASS_ELEMENTWISE] =
		{"elementwise",
		 "element_?wise|pointwise|triton_poi|vectorized|multi_tensor|"
		 "adam|fused|silu|gelu|relu|dropout|rope|rotary|cast|convert|fill|copy|"
		 "(^|_)(add|mul|sub|div|axpy|scale|bias)"},
	[KERNEL_CLASS_OTHER] = {"kernel", NULL},
};

/* Words that the page or a table has for what is no kernel's class. */
static const char *const taken[] = {
	"alloc", "api",  "call",   "copy",   "cpu",    "free",   "graph",   "group",
	"hit",   "idle", "memcpy", "memory", "memset", "module", "native",  "overhead",
	"own1",  "own2", "own3",   "python", "sync",   "um",     "unknown", "wait",
};

static struct added {
	enum kernel_class kernel_class;
	regex_t compiled;
} added[KERNEL_CLASS_ADDED_MAX];
static uint32_t nr_added;
static char own_words[KERNEL_CLASS_OWN_MAX][KERNEL_CLASS_WORD_MAX + 1];

static pthread_once_t once = PTHREAD_ONCE_INIT;
static regex_t compiled[KERNEL_CLASS_OTHER];
static bool usable[KERNEL_CLASS_OTHER]; /* false: there was no memory for it */

static int compile(regex_t *into, const char *pattern)
{
	return regcomp(into, pattern, REG_EXTENDED | REG_ICASE | REG_NOSUB);
}

static void compile_built_in(void)
{
	for (size_t i = 0; i < KERNEL_CLASS_OTHER; i++)
		usable[i] = compile(&compiled[i], classes[i].pattern) == 0;
}

enum kernel_class kernel_class_of(const char *name)
{
	pthread_once(&once, compile_built_in);
	for (uint32_t i = 0; i < nr_added; i++)
		if (regexec(&added[i].compiled, name, 0, NULL, 0) == 0)
			return added[i].kernel_class;
	for (size_t i = 0; i < KERNEL_CLASS_OTHER; i++)
		if (usable[i] && regexec(&compiled[i], name, 0, NULL, 0) == 0)
			return (enum kernel_class)i;
	return KERNEL_CLASS_OTHER;
}

const char *kernel_class_word(enum kernel_class kernel_class)
{
	if (kernel_class < KERNEL_CLASS_OWN)
		return classes[kernel_class].word;
	const char *word = own_words[kernel_class - KERNEL_CLASS_OWN];
	return *word ? word : NULL;
}

/* ---- added rules */

static int check_word(const char *word, char **error)
{
	const size_t size = strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_");

	if (word[size] || size == 0 || size > KERNEL_CLASS_WORD_MAX || *word < 'a')
		return error_text_set(error, -EINVAL,
				      "%s: a class has a small letter, then at most %u small "
				      "letters, digits and _",
				      word, KERNEL_CLASS_WORD_MAX - 1);
	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++)
		if (strcmp(word, taken[i]) == 0)
			return error_text_set(error, -EINVAL,
					      "%s: the name stands for something else in reports",
					      word);
	return 0;
}

/* Returns the ] of the bracket expression at `at`, or where the pattern ends without one. */
static const char *end_of_bracket(const char *at)
{
	at += 1 + (at[1] == '^');
	at += *at == ']';
	while (*at && *at != ']') {
		const char inner = at[0] == '[' && at[1] && strchr(":.=", at[1]) ? at[1] : '\0';

		at += inner ? 2 : 1;
		while (inner && *at && !(at[0] == inner && at[1] == ']'))
			at++;
		at += inner && *at ? 2 : 0;
	}
	return at;
}

/* Refuses what regcomp() takes for something else than other tools do, and what could keep it busy for ever: each +
 * doubles what it repeats. */
static int check_pattern(const char *pattern, char **error)
{
	bool may_repeat = false; /* the piece before can be repeated */
	unsigned int open = 0;   /* parentheses */

	for (const char *at = pattern; *at; at++) {
		const bool repeats = strchr("*+?", *at) != NULL;

		if (repeats && !may_repeat)
			return error_text_set(error, -EINVAL, "%s: nothing to repeat before %s",
					      pattern, at);
		if (*at == '{' || *at == '}')
			return error_text_set(error, -EINVAL,
					      "%s: braces cannot be used, but \\{ can", pattern);
		if (*at == '\\' && (!at[1] || !strchr("\\^$.*+?()[]{}|", at[1])))
			return error_text_set(error, -EINVAL,
					      "%s: \\ stands before punctuation alone", pattern);
		if (*at == ')' && open-- == 0)
			return error_text_set(error, -EINVAL, "%s: nothing is open before )",
					      pattern);
		open += *at == '(';
		if (open > NESTED_MAX)
			return error_text_set(error, -EINVAL,
					      "%s: more than %u parentheses in each other", pattern,
					      NESTED_MAX);
		may_repeat = !repeats && !strchr("(|^$", *at);
		if (*at == '\\')
			at++;
		else if (*at == '[' && !*(at = end_of_bracket(at)))
			return error_text_set(error, -EINVAL, "%s: [ without ]", pattern);
	}
	return 0;
}

/* Finds the class of this word, or a free place for a new one. KERNEL_CLASSES: there is none. */
static enum kernel_class find_class(const char *word)
{
	for (uint32_t i = 0; i < KERNEL_CLASSES; i++) {
		const char *known = kernel_class_word((enum kernel_class)i);

		if (!known || strcmp(known, word) == 0)
			return (enum kernel_class)i;
	}
	return KERNEL_CLASSES;
}

int kernel_class_add(const char *word, const char *pattern, char **error)
{
	struct added *rule = &added[nr_added];
	const enum kernel_class kernel_class = find_class(word);
	char why[ERROR_SIZE];

	*error = NULL;
	int status = check_word(word, error);
	if (status == 0)
		status = check_pattern(pattern, error);
	if (status < 0)
		return status;
	if (nr_added == KERNEL_CLASS_ADDED_MAX)
		return error_text_set(error, -ENOSPC, "more than %u rules", KERNEL_CLASS_ADDED_MAX);
	if (kernel_class == KERNEL_CLASSES)
		return error_text_set(error, -ENOSPC,
				      "%s: more than %u new classes; the page has colours for %s, "
				      "%s and %s",
				      word, KERNEL_CLASS_OWN_MAX, own_words[0], own_words[1],
				      own_words[2]);
	status = compile(&rule->compiled, pattern);
	if (status != 0) {
		regerror(status, &rule->compiled, why, sizeof(why));
		return error_text_set(error, status == REG_ESPACE ? -ENOMEM : -EINVAL, "%s: %s",
				      pattern, why);
	}
	rule->kernel_class = kernel_class;
	if (kernel_class >= KERNEL_CLASS_OWN)
		strcpy(own_words[kernel_class - KERNEL_CLASS_OWN], word);
	nr_added++;
	return 0;
}

void kernel_class_forget(void)
{
	while (nr_added > 0)
		regfree(&added[--nr_added].compiled);
	memset(own_words, 0, sizeof(own_words));
}
