#include "device_list.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error_text.h"

#define FILE_SIZE_MAX (1u << 20)
#define FIELD_MAX     64u

void device_list_fini(struct device_list *list)
{
	free(list->entries);
	memset(list, 0, sizeof(*list));
}

static bool same_address(const struct device_list_entry *entry, uint32_t domain, uint32_t bus,
			 uint32_t device)
{
	return entry->pci_domain == domain && entry->pci_bus == bus && entry->pci_device == device;
}

int device_list_add(struct device_list *list, const struct device_list_entry *entry)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (list->entries[i].index == entry->index ||
		    same_address(&list->entries[i], entry->pci_domain, entry->pci_bus,
				 entry->pci_device))
			return -EEXIST;
	if (list->count == DEVICE_LIST_MAX)
		return -ENOSPC;
	return array_append(&list->entries, &list->count, entry, sizeof(*entry));
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Takes the next word of the line. Returns false at the end of the line, or if the word is too long. */
static bool next_word(const char **at, const char *end, char word[FIELD_MAX])
{
	size_t size = 0;

	while (*at < end && is_space(**at))
		(*at)++;
	while (*at < end && !is_space(**at)) {
		if (size + 1 == FIELD_MAX)
			return false;
		word[size++] = *(*at)++;
	}
	word[size] = '\0';
	return size > 0;
}

static bool parse_index(const char *word, int32_t *index)
{
	char *end;
	long value = strtol(word, &end, 10);

	if (*word < '0' || *word > '9' || *end || value > INT32_MAX)
		return false;
	*index = (int32_t)value;
	return true;
}

static bool parse_pci(const char *word, struct device_list_entry *entry)
{
	unsigned int domain = 0, bus, device, function = 0;
	int used = 0;

	if (sscanf(word, "%8x:%2x:%2x%n", &domain, &bus, &device, &used) != 3)
		return false;
	word += used;
	if (*word && (sscanf(word, ".%1x%n", &function, &used) != 1 || word[used]))
		return false;
	entry->pci_domain = domain;
	entry->pci_bus = bus;
	entry->pci_device = device;
	return device < 32;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static bool parse_uuid(const char *word, uint8_t uuid[WIRE_UUID_SIZE])
{
	uint32_t digits = 0;

	if (strncmp(word, "GPU-", 4) == 0 || strncmp(word, "MIG-", 4) == 0)
		word += 4;
	memset(uuid, 0, WIRE_UUID_SIZE);
	for (; *word; word++) {
		int digit = hex_digit(*word);

		if (*word == '-')
			continue;
		if (digit < 0 || digits == 2 * WIRE_UUID_SIZE)
			return false;
		uuid[digits / 2] = (uint8_t)(uuid[digits / 2] << 4 | digit);
		digits++;
	}
	return digits == 2 * WIRE_UUID_SIZE;
}

/* Returns the fault of the line, or NULL. *skip: the line has no device. */
static const char *parse_line(const char *line, const char *end, struct device_list_entry *entry,
			      bool *skip)
{
	char word[FIELD_MAX];

	*skip = false;
	while (line < end && is_space(*line))
		line++;
	if (line == end || *line == '#') {
		*skip = true;
		return NULL;
	}
	memset(entry, 0, sizeof(*entry));
	if (!next_word(&line, end, word) || !parse_index(word, &entry->index))
		return "the index is not a number";
	if (!next_word(&line, end, word) || !parse_pci(word, entry))
		return "the PCI address is not like 0000:17:00.0";
	if (!next_word(&line, end, word) || !parse_uuid(word, entry->uuid))
		return "the UUID does not have 32 hexadecimal digits";
	return NULL;
}

int device_list_parse(const char *text, size_t size, struct device_list *list, uint32_t *error_line,
		      const char **problem)
{
	const char *end = text + size;

	for (*error_line = 1; text < end; (*error_line)++) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *line_end = newline ? newline : end;
		struct device_list_entry entry;
		bool skip;

		*problem = parse_line(text, line_end, &entry, &skip);
		if (*problem)
			return -EINVAL;
		int r = skip ? 0 : device_list_add(list, &entry);
		if (r == -EEXIST)
			*problem = "the index or the PCI address was used before";
		else if (r == -ENOSPC)
			*problem = "too many devices";
		if (r)
			return r == -ENOMEM ? r : -EINVAL;
		text = line_end + 1;
	}
	*error_line = 0;
	*problem = NULL;
	return 0;
}

static int read_file(const char *path, char **text, size_t *size)
{
	FILE *file = fopen(path, "re");
	int r = 0;

	*size = 0;
	*text = NULL;
	if (!file)
		return -errno;
	*text = malloc(FILE_SIZE_MAX + 1);
	errno = 0; /* fread() need not set errno */
	if (*text)
		*size = fread(*text, 1, FILE_SIZE_MAX + 1, file);
	if (!*text)
		r = -ENOMEM;
	else if (ferror(file))
		r = errno ? -errno : -EIO;
	else if (*size > FILE_SIZE_MAX)
		r = -EFBIG;
	fclose(file);
	return r;
}

int device_list_read(const char *path, struct device_list *list, char **error)
{
	uint32_t line = 0;
	const char *problem = NULL;
	char *text;
	size_t size;

	*error = NULL;
	memset(list, 0, sizeof(*list));
	int r = read_file(path, &text, &size);
	if (r == 0)
		r = device_list_parse(text, size, list, &line, &problem);
	free(text);
	if (r == 0)
		return 0;
	device_list_fini(list);
	return problem ? error_text_set(error, r, "devices: %s:%u: %s", path, line, problem)
		       : error_text_set(error, r, "devices: %s: %s", path, strerror(-r));
}

const struct device_list_entry *device_list_find(const struct device_list *list,
						 uint32_t pci_domain, uint32_t pci_bus,
						 uint32_t pci_device,
						 const uint8_t uuid[WIRE_UUID_SIZE])
{
	static const uint8_t unknown[WIRE_UUID_SIZE];

	for (uint32_t i = 0; i < list->count; i++)
		if (same_address(&list->entries[i], pci_domain, pci_bus, pci_device))
			return &list->entries[i];
	if (memcmp(uuid, unknown, WIRE_UUID_SIZE) == 0)
		return NULL;
	for (uint32_t i = 0; i < list->count; i++)
		if (memcmp(list->entries[i].uuid, uuid, WIRE_UUID_SIZE) == 0)
			return &list->entries[i];
	return NULL;
}
