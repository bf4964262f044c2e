#include "straggler_topology.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error_text.h"
#include "base/text_print.h"
#include "report/names/clean_text.h"

#define DIGITS_MAX 18u /* of a host's number, so that it fits 64 bits */

struct leaf {
	char *name;  /* owns; "switch s0" */
	char *nodes; /* owns; a checked list of hosts */
	uint32_t line;
};

struct straggler_topology {
	struct leaf *leaves; /* owns */
	uint32_t nr_leaves;
};

/* Where reading stands. */
struct reading {
	const char *path;
	uint32_t line;
	struct straggler_topology *topology;
	char **error;
};

void straggler_topology_destroy(struct straggler_topology *topology)
{
	if (!topology)
		return;
	for (uint32_t i = 0; i < topology->nr_leaves; i++) {
		free(topology->leaves[i].name);
		free(topology->leaves[i].nodes);
	}
	free(topology->leaves);
	free(topology);
}

/* ---- lists of hosts: "n[1-4,07],login1" */

/* Reads a number. Returns its digits; 0: there is none, or it is too long. */
static size_t read_number(const char *text, uint64_t *number)
{
	size_t size = 0;

	for (*number = 0; isdigit((unsigned char)text[size]); size++) {
		if (size == DIGITS_MAX)
			return 0;
		*number = *number * 10 + (uint64_t)(text[size] - '0');
	}
	return size;
}

/* A range within brackets: "1-4", "07". */
struct range {
	uint64_t low, high;
	size_t width; /* numbers have so many digits at least, with zeros before them */
};

/* Returns what follows the range; NULL: it is none. */
static const char *read_range(const char *text, struct range *range)
{
	range->width = read_number(text, &range->low);
	range->high = range->low;
	if (!range->width)
		return NULL;
	text += range->width;
	if (*text != '-')
		return text;
	const size_t size = read_number(text + 1, &range->high);
	return size && range->high >= range->low ? text + 1 + size : NULL;
}

/* Returns the closing bracket behind the ranges; NULL: they are none. */
static const char *check_ranges(const char *text)
{
	struct range range;

	do {
		text = read_range(text + 1, &range);
	} while (text && *text == ',');
	return text && *text == ']' ? text : NULL;
}

static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.';
}

static bool is_list(const char *text)
{
	uint32_t brackets = 0;
	size_t length = 0;

	for (; *text; text++) {
		if (*text == '[') {
			text = check_ranges(text);
			if (!text || ++brackets > STRAGGLER_TOPOLOGY_BRACKETS)
				return false;
		} else if (*text == ',') {
			if (!length)
				return false;
			brackets = 0;
			length = 0;
			continue;
		} else if (!is_of_name(*text)) {
			return false;
		}
		length++;
	}
	return length > 0;
}

/* Returns whether the digits are a number of the ranges, which begin with a bracket. */
static bool is_in_ranges(const char *ranges, const char *digits, size_t size)
{
	struct range range;
	uint64_t number = 0;

	for (size_t i = 0; i < size; i++)
		number = number * 10 + (uint64_t)(digits[i] - '0');
	do {
		ranges = read_range(ranges + 1, &range);
		if (ranges && number >= range.low && number <= range.high &&
		    (size == range.width || (size > range.width && digits[0] != '0')))
			return true;
	} while (ranges && *ranges == ',');
	return false;
}

/* Returns whether a name is one of those that the first item of a list stands for. */
static bool matches(const char *item, const char *name, size_t size)
{
	for (; *item && *item != ','; item++, name++, size--) {
		if (*item == '[') {
			const char *behind = strchr(item, ']') + 1;

			for (size_t i = 0;
			     i < size && i < DIGITS_MAX && isdigit((unsigned char)name[i]); i++)
				if (is_in_ranges(item, name, i + 1) &&
				    matches(behind, name + i + 1, size - i - 1))
					return true;
			return false;
		}
		if (size == 0 || *item != *name)
			return false;
	}
	return size == 0;
}

/* Returns the next item of a checked list; NULL: it was the last. */
static const char *next_item(const char *item)
{
	for (bool in_brackets = false; *item; item++) {
		if (*item == ',' && !in_brackets)
			return item + 1;
		in_brackets = *item == '[' || (in_brackets && *item != ']');
	}
	return NULL;
}

static bool has_host(const char *nodes, const char *host, size_t size)
{
	for (const char *item = nodes; item; item = next_item(item))
		if (matches(item, host, size))
			return true;
	return false;
}

/* Returns the first switch, from one on, that has a host by a name of this size; NULL: none has. */
static const struct leaf *find_leaf(const struct straggler_topology *topology, uint32_t from,
				    const char *host, size_t size)
{
	for (uint32_t i = from; i < topology->nr_leaves; i++)
		if (has_host(topology->leaves[i].nodes, host, size))
			return &topology->leaves[i];
	return NULL;
}

/* The same by its whole name, or else by that before the first point. *size becomes that of the name. */
static const struct leaf *find_first(const struct straggler_topology *topology, const char *host,
				     size_t *size)
{
	const char *point = memchr(host, '.', *size);
	const struct leaf *leaf = find_leaf(topology, 0, host, *size);

	if (leaf || !point)
		return leaf;
	*size = (size_t)(point - host);
	return find_leaf(topology, 0, host, *size);
}

const char *straggler_topology_find(const struct straggler_topology *topology, const char *host,
				    size_t size)
{
	const struct leaf *leaf = find_first(topology, host, &size);

	return leaf ? leaf->name : NULL;
}

int straggler_topology_check(const struct straggler_topology *topology, const char *path,
			     const char *host, size_t size, char **error)
{
	const struct leaf *first = find_first(topology, host, &size), *second = first;

	while (second && strcmp(second->name, first->name) == 0)
		second = find_leaf(topology, (uint32_t)(second - topology->leaves) + 1, host, size);
	if (!second)
		return 0;
	char *name = clean_text_of(host, size);
	const int result = error_text_set(error, -EINVAL,
					  "%s: line %" PRIu32 ": %s has host %s, which %s of line "
					  "%" PRIu32 " has, too",
					  path, second->line, second->name, name ? name : "",
					  first->name, first->line);
	free(name);
	return result;
}

/* ---- lines */

__attribute__((format(printf, 2, 3))) static int refuse(const struct reading *reading,
							const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	char *text = text_print_list(format, arguments);
	va_end(arguments);
	char *clean = text ? clean_text_of(text, strlen(text)) : NULL;
	int error = error_text_set(reading->error, -EINVAL, "%s: line %" PRIu32 ": %s",
				   reading->path, reading->line, clean ? clean : "wrong");
	free(clean);
	free(text);
	return error;
}

/* What a line says. */
struct words {
	const char *kind, *name, *nodes, *switches;
};

/* Returns whether a key is one of those of `scontrol show topology`, or of the file, that say nothing here. */
static bool is_ignored(const char *key)
{
	static const char *const keys[] = {"LinkSpeed", "BlockSizes", "Level", "BlockIndex",
					   "BlockSize"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (strcasecmp(key, keys[i]) == 0)
			return true;
	return false;
}

static int take_word(const struct reading *reading, char *word, struct words *words)
{
	char *value = strchr(word, '=');
	const char **place = NULL;

	if (!value || !value[1])
		return refuse(reading, "%.64s: is no KEY=VALUE", word);
	*value++ = '\0';
	if (strcasecmp(word, "SwitchName") == 0 || strcasecmp(word, "BlockName") == 0) {
		words->kind = strcasecmp(word, "BlockName") == 0 ? "block" : "switch";
		place = &words->name;
	} else if (strcasecmp(word, "Nodes") == 0) {
		place = &words->nodes;
	} else if (strcasecmp(word, "Switches") == 0) {
		place = &words->switches;
	} else if (is_ignored(word)) {
		return 0;
	} else {
		return refuse(reading,
			      "%.64s: must be SwitchName, BlockName, Nodes, Switches, LinkSpeed or "
			      "BlockSizes",
			      word);
	}
	if (*place)
		return refuse(reading, "%s is there twice", word);
	*place = value;
	return is_list(value) ? 0 : refuse(reading, "%s=%.64s: is no list of names", word, value);
}

static int add_leaf(const struct reading *reading, const struct words *words)
{
	struct straggler_topology *topology = reading->topology;
	struct leaf leaf = {.nodes = strdup(words->nodes), .line = reading->line};

	if (asprintf(&leaf.name, "%s %s", words->kind, words->name) < 0)
		leaf.name = NULL;
	int error = leaf.name && leaf.nodes ? array_append(&topology->leaves, &topology->nr_leaves,
							   &leaf, sizeof(leaf))
					    : -ENOMEM;
	if (error) {
		free(leaf.name);
		free(leaf.nodes);
	}
	return error;
}

static int take_line(const struct reading *reading, char *line)
{
	struct words words = {0};
	char *rest = NULL;
	int error = 0;

	line[strcspn(line, "#")] = '\0';
	for (char *word = strtok_r(line, " \t\r", &rest); word && !error;
	     word = strtok_r(NULL, " \t\r", &rest))
		error = take_word(reading, word, &words);
	if (error)
		return error;
	if (!words.name)
		return words.nodes || words.switches
			       ? refuse(reading, "there is no SwitchName or BlockName")
			       : 0;
	if (!words.nodes && !words.switches)
		return refuse(reading, "%s %.64s has neither Nodes nor Switches", words.kind,
			      words.name);
	return words.nodes && !words.switches ? add_leaf(reading, &words) : 0;
}

/* Returns the size of a line's end in front of which a '\\' stands; 0: there is none. */
static size_t size_of_join(const char *text)
{
	if (text[0] != '\\')
		return 0;
	return text[1] == '\n' ? 2 : text[1] == '\r' && text[2] == '\n' ? 3 : 0;
}

/* Finds the end of a line, and takes out each '\' before the end of a line, with that end: so lines are joined.
 * *lines is how many of the file it has, and *size its bytes. Returns what follows it. */
static char *cut_line(char *line, uint32_t *lines, size_t *size)
{
	char *to = line, *from = line;

	for (*lines = 1; *from && *from != '\n'; from++) {
		const size_t join = size_of_join(from);

		if (join) {
			from += join - 1;
			++*lines;
			continue;
		}
		*to++ = *from;
	}
	char *next = *from ? from + 1 : from;
	*to = '\0';
	*size = (size_t)(to - line);
	return next;
}

/* A joined line has the number of its first part. */
static int take_text(struct reading *reading, char *text)
{
	uint32_t lines;
	size_t size;
	int error = 0;

	for (reading->line = 1; *text && !error; reading->line += lines) {
		char *next = cut_line(text, &lines, &size);

		error = size > STRAGGLER_TOPOLOGY_LINE ? refuse(reading, "is longer than %u KiB",
								STRAGGLER_TOPOLOGY_LINE >> 10)
						       : take_line(reading, text);
		text = next;
	}
	return error;
}

/* ---- the file */

/* Reads the file up to its end, or to the size of the room. A pipe whose writer sends nothing ends the wait after
 * STRAGGLER_TOPOLOGY_WAIT_MS. 0 or -errno. */
static int read_all(int fd, char *text, size_t room, size_t *size)
{
	struct pollfd wanted = {.fd = fd, .events = POLLIN};
	ssize_t got = 1;

	for (*size = 0; *size < room && got != 0; *size += got > 0 ? (size_t)got : 0) {
		const int ready = poll(&wanted, 1, STRAGGLER_TOPOLOGY_WAIT_MS);

		if (ready == 0)
			return -ETIMEDOUT;
		got = ready < 0 ? -1 : read(fd, text + *size, room - *size);
		if (got < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
	}
	return 0;
}

/* Opening a pipe that nobody writes must not wait. */
static int open_file(const char *path, int *fd, char **error)
{
	struct stat status;

	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (*fd < 0 || fstat(*fd, &status) < 0)
		return error_text_set(error, -errno, "%s: %s", path, strerror(errno));
	if (S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode))
		return 0;
	const int wrong = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
	return error_text_set(error, -wrong, "%s: is neither a file nor a pipe", path);
}

static int read_text(const char *path, char **text, char **error)
{
	size_t size = 0;
	int fd, result = open_file(path, &fd, error);

	*text = result ? NULL : malloc(STRAGGLER_TOPOLOGY_BYTES + 2ul);
	if (*text) {
		result = read_all(fd, *text, STRAGGLER_TOPOLOGY_BYTES + 1ul, &size);
		(*text)[size] = '\0';
		if (result == -ETIMEDOUT)
			error_text_set(error, result, "%s: nothing came for %u seconds", path,
				       STRAGGLER_TOPOLOGY_WAIT_MS / 1000);
		else if (result)
			error_text_set(error, result, "%s: %s", path, strerror(-result));
	} else if (!result) {
		result = -ENOMEM;
	}
	if (fd >= 0)
		close(fd);
	if (result)
		return result;
	if (size > STRAGGLER_TOPOLOGY_BYTES)
		return error_text_set(error, -EFBIG, "%s: is larger than %u MiB", path,
				      STRAGGLER_TOPOLOGY_BYTES >> 20);
	if (strlen(*text) < size)
		return error_text_set(error, -EINVAL, "%s: is no text", path);
	return 0;
}

int straggler_topology_read(const char *path, struct straggler_topology **topology, char **error)
{
	struct reading reading = {.path = path, .error = error};
	char *text;

	*error = NULL;
	*topology = NULL;
	int result = read_text(path, &text, error);
	if (!result) {
		reading.topology = calloc(1, sizeof(*reading.topology));
		result = reading.topology ? take_text(&reading, text) : -ENOMEM;
	}
	if (!result && !reading.topology->nr_leaves)
		result = error_text_set(error, -EINVAL, "%s: has no switch with Nodes", path);
	free(text);
	if (result)
		straggler_topology_destroy(reading.topology);
	else
		*topology = reading.topology;
	return result;
}
