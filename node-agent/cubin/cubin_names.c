#include "cubin_names.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cubin_rows.h"
#include "proto/cubin_image.h"

struct rows_of_unit {
	struct cubin_row *begin, *end;
};

static struct rows_of_unit rows_of(struct cubin_rows *rows, uint32_t unit)
{
	uint32_t end = unit + 1 < rows->nr_units ? rows->units[unit + 1].first_row : rows->nr_rows;

	return (struct rows_of_unit){rows->rows + rows->units[unit].first_row, rows->rows + end};
}

/* Returns the last name in a unit; CUBIN_NAME_NONE: it has none. */
static uint32_t last_name(struct cubin_rows *rows, uint32_t unit)
{
	struct rows_of_unit of_unit = rows_of(rows, unit);
	uint32_t last = CUBIN_NAME_NONE;

	for (struct cubin_row *row = of_unit.begin; row < of_unit.end; row++)
		if (row->name != CUBIN_NAME_NONE && (last == CUBIN_NAME_NONE || row->name > last))
			last = row->name;
	return last;
}

/* Returns whether a text begins at each name of a unit whose strings begin at base. */
static bool names_begin_texts(const struct cubin_names *names, struct cubin_rows *rows,
			      uint32_t unit, uint64_t base)
{
	struct rows_of_unit of_unit = rows_of(rows, unit);

	for (struct cubin_row *row = of_unit.begin; row < of_unit.end; row++) {
		uint64_t at = base + row->name;

		if (row->name != CUBIN_NAME_NONE &&
		    (at >= names->size || (at > 0 && names->text[at - 1] != '\0')))
			return false;
	}
	return true;
}

/* Gives each unit the place behind the strings of the one before. Returns whether that fits the section; if not, some
 * places are wrong. */
static bool place_by_strings(const struct cubin_names *names, struct cubin_rows *rows)
{
	uint64_t base = 0;

	for (uint32_t unit = 0; unit < rows->nr_units; unit++) {
		uint32_t last = last_name(rows, unit);

		if (last == CUBIN_NAME_NONE)
			continue;
		if (!names_begin_texts(names, rows, unit, base))
			return false;
		rows->units[unit].strings = (uint32_t)base;
		base += last;
		base += strlen(names->text + base) + 1;
	}
	return base == names->size;
}

/* Keeps the places that units tell, if each is behind that of the unit before: else it is not its own. */
static void trust_places(struct cubin_rows *rows)
{
	uint64_t known = 0; /* places below it are those of units before */

	for (uint32_t unit = 0; unit < rows->nr_units; unit++) {
		uint32_t *place = &rows->units[unit].strings;

		if (*place == CUBIN_NAME_NONE || last_name(rows, unit) == CUBIN_NAME_NONE)
			continue;
		if (*place < known)
			*place = CUBIN_NAME_NONE;
		else
			known = *place + 1ull;
	}
}

/* Makes all units say again that their strings begin at 0. */
static void forget_places(struct cubin_rows *rows)
{
	for (uint32_t unit = 0; unit < rows->nr_units; unit++)
		rows->units[unit].strings = 0;
}

/* Returns whether several units say that their strings begin at 0, and none says something else. */
static bool lacks_places(struct cubin_rows *rows)
{
	uint32_t nr_units = 0;

	for (uint32_t unit = 0; unit < rows->nr_units; unit++) {
		if (last_name(rows, unit) == CUBIN_NAME_NONE)
			continue;
		if (rows->units[unit].strings != 0)
			return false;
		nr_units++;
	}
	return nr_units > 1;
}

static void apply_places(const struct cubin_names *names, struct cubin_rows *rows)
{
	for (uint32_t unit = 0; unit < rows->nr_units; unit++) {
		struct rows_of_unit of_unit = rows_of(rows, unit);
		uint64_t place = rows->units[unit].strings;

		for (struct cubin_row *row = of_unit.begin; row < of_unit.end; row++) {
			bool is_known = row->name != CUBIN_NAME_NONE && place != CUBIN_NAME_NONE &&
					place + row->name < names->size;

			row->name = is_known ? (uint32_t)place + row->name : CUBIN_NAME_NONE;
		}
	}
}

int cubin_names_init(struct cubin_names *names, struct cubin_rows *rows,
		     const struct cubin_image *image)
{
	struct cubin_section section = {0};

	if (rows->has_names)
		cubin_image_find(image, ".debug_str", &section);
	if (section.size > 0 && section.size < CUBIN_NAME_NONE) {
		names->text = malloc(section.size + 1);
		if (!names->text)
			return -ENOMEM;
		memcpy(names->text, image->data + section.offset, section.size);
		names->text[section.size] = '\0';
		names->size = section.size;
	}
	if (lacks_places(rows) && !place_by_strings(names, rows))
		forget_places(rows);
	trust_places(rows);
	apply_places(names, rows);
	return 0;
}

void cubin_names_fini(struct cubin_names *names)
{
	free(names->text);
	*names = (struct cubin_names){0};
}

const char *cubin_names_text(const struct cubin_names *names, uint32_t name)
{
	return name < names->size && names->text[name] ? names->text + name : NULL;
}
