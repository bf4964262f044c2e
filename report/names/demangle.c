#include "demangle.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From the C++ ABI (cxxabi.h is C++). Returns malloc()ed text, or NULL with *status -1: out of
 * memory, -2: not a mangled name. */
char *__cxa_demangle(const char *mangled, char *output, size_t *length, int *status);

/* Returns the length of a name such as "operator<" or "operator->" at text, whose signs are no brackets; 0: none. */
static size_t operator_length(const char *text, const char *begin)
{
	static const char *const signs[] = {"<=>", "<<=", ">>=", "->*", "<<", ">>",
					    "<=",  ">=",  "->",  "<",   ">"};
	static const char word[] = "operator";
	size_t length = sizeof(word) - 1;

	if (strncmp(text, word, length) != 0 ||
	    (text > begin && (isalnum((unsigned char)text[-1]) || text[-1] == '_')))
		return 0;
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (strncmp(text + length, signs[i], strlen(signs[i])) == 0)
			return length + strlen(signs[i]);
	return 0;
}

/* CUTLASS starts each of its kernels in one of three functions, of which the kernel is the template's first argument.
 * Makes that argument the name, with its own templates, but without what follows it. */
static void unwrap_cutlass(char *name)
{
	static const char *const wrappers[] = {"cutlass::Kernel<", "cutlass::Kernel2<",
					       "cutlass::device_kernel<"};
	const char *argument = NULL;
	size_t length = 0;
	int depth = 0;

	if (strncmp(name, "void ", strlen("void ")) != 0)
		return;
	for (size_t i = 0; i < sizeof(wrappers) / sizeof(wrappers[0]) && !argument; i++)
		if (strncmp(name + strlen("void "), wrappers[i], strlen(wrappers[i])) == 0)
			argument = name + strlen("void ") + strlen(wrappers[i]);
	if (!argument)
		return;
	for (; argument[length]; length++) {
		const char c = argument[length];

		if (depth == 0 && (c == ',' || c == '>'))
			break;
		depth += (c == '<' || c == '(') - (c == '>' || c == ')');
	}
	if (!argument[length])
		return;
	while (length > 0 && argument[length - 1] == ' ')
		length--;
	memmove(name, argument, length);
	name[length] = '\0';
}

static void drop_templates(char *name)
{
	char *out = name;
	int depth = 0;

	for (const char *in = name; *in;) {
		size_t length = operator_length(in, name);

		if (length) {
			if (depth == 0) {
				memmove(out, in, length);
				out += length;
			}
			in += length;
			continue;
		}
		/* The '>' of an arrow is no bracket. */
		if (*in == '<')
			depth++;
		if (depth == 0)
			*out++ = *in;
		if (*in == '>' && depth > 0 && in[-1] != '-')
			depth--;
		in++;
	}
	*out = '\0';
}

/* Returns the opening bracket for `close`; NULL: none. */
static char *opening_bracket(char *name, char *close)
{
	int depth = 0;

	for (char *at = close; at >= name; at--) {
		if (*at == ')')
			depth++;
		if (*at == '(' && --depth == 0)
			return at;
	}
	return NULL;
}

/* Cuts " [clone .cold]", " const", "&" and then the parameters: the brackets that end the name,
 * unless they are the call operator's name. */
static void drop_parameters(char *name)
{
	static const char *const endings[] = {" const", " volatile", " &", " &&", "&", " noexcept"};
	char *clone = strstr(name, " [clone ");
	bool cut = true;

	if (clone)
		*clone = '\0';
	while (cut) {
		size_t length = strlen(name);

		cut = false;
		for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
			size_t ending = strlen(endings[i]);

			if (length > ending && strcmp(name + length - ending, endings[i]) == 0) {
				name[length - ending] = '\0';
				length -= ending;
				cut = true;
			}
		}
	}
	size_t length = strlen(name);
	if (length == 0 || name[length - 1] != ')')
		return;
	char *open = opening_bracket(name, name + length - 1);
	bool is_call_operator = open && open - name >= 8 && memcmp(open - 8, "operator", 8) == 0;
	if (open && open > name && open[-1] != ':' && !is_call_operator)
		*open = '\0';
	/* A space separated "operator<<" from its template's arguments. */
	for (length = strlen(name); length > 0 && name[length - 1] == ' '; length--)
		name[length - 1] = '\0';
}

/* Cuts the text before the last space outside brackets. A conversion operator's type is part of its name. */
static void drop_return_type(char *name)
{
	char *begin = name, *stop = strstr(name, "operator");
	int depth = 0;

	for (char *at = name; *at && at != stop; at++) {
		if (*at == '(' || *at == '{' || *at == '[')
			depth++;
		if (*at == ')' || *at == '}' || *at == ']')
			depth--;
		if (*at == ' ' && depth == 0)
			begin = at + 1;
	}
	memmove(name, begin, strlen(begin) + 1);
}

/* Returns the namespaces, classes and functions with which a mangled name begins, up to the first template's arguments,
 * as "ns::Class..."; NULL: out of memory. The text is empty if there are none. */
static char *leading_names(const char *mangled)
{
	const char *at = mangled + strlen("_Z");
	char *names = NULL, *end;
	size_t length;
	FILE *out = open_memstream(&names, &length);

	if (!out)
		return NULL;
	at += strspn(at, "ZNrVKL"); /* local, nested, its qualifiers, internal */
	if (strncmp(at, "St", 2) == 0) {
		fputs("std::", out);
		at += 2;
	}
	for (bool first = true; isdigit((unsigned char)*at); first = false) {
		size_t size = strtoul(at, &end, 10);
		bool anonymous = strncmp(end, "_GLOBAL__N", strlen("_GLOBAL__N")) == 0;

		if (size == 0 || size > strlen(end))
			break;
		fprintf(out, "%s%.*s", first ? "" : "::", anonymous ? INT_MAX : (int)size,
			anonymous ? "(anonymous namespace)" : end);
		at = end + size;
		at += *at == 'L';
	}
	if (ftello(out) > 0)
		fputs("...", out);
	if (fclose(out) == 0)
		return names;
	free(names);
	return NULL;
}

/* Names of newer compilers are beyond an older C++ runtime. */
static char *demangle_in_part(const char *name)
{
	char *names = leading_names(name);

	if (!names || names[0])
		return names;
	free(names);
	return strdup(name);
}

static void make_simple(char *name)
{
	unwrap_cutlass(name);
	drop_templates(name);
	drop_parameters(name);
	drop_return_type(name);
}

char *demangle_simplify(const char *name)
{
	char *simple = strdup(name);

	if (simple && strpbrk(simple, "<("))
		make_simple(simple);
	return simple;
}

char *demangle_name(const char *name, enum demangle_mode mode)
{
	int status = -2;
	char *demangled = NULL;

	if (mode == DEMANGLE_NONE || strncmp(name, "_Z", 2) != 0)
		return strdup(name);
	demangled = __cxa_demangle(name, NULL, NULL, &status);
	if (!demangled)
		return status == -1 ? NULL : demangle_in_part(name);
	if (mode == DEMANGLE_SIMPLE)
		make_simple(demangled);
	return demangled;
}
