#include "strips_writer.h"

#include <inttypes.h>

#include "html_text.h"

static uint32_t count_ticks(const struct step_ticks *ticks)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < STEP_TICKS_MOST; i++)
		count += ticks->begins_ns[i] != 0;
	return count;
}

/* What the strips lack. */
static void write_losses(FILE *out, const struct timeline_counts *counts)
{
	fprintf(out,
		",\"dropped\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"damaged\":%" PRIu64
		",\"unclocked\":%" PRIu64,
		counts->log.dropped_events, counts->log.lost_events,
		counts->log.damaged + counts->log.compressed, counts->unclocked + counts->unknown);
}

void strips_writer_json(FILE *out, const struct time_strips *strips, bool has_boxes,
			const char *path)
{
	fprintf(out,
		"\"timeline\":{\"beginNs\":%" PRIu64 ",\"beforeNs\":%" PRIu64
		",\"isPart\":%s,\"byLaunch\":%s,\"boxes\":%" PRIu32 ",\"firstStep\":%" PRIu64,
		strips->first_ns - strips->origin_ns, strips->first_ns - strips->axis.first_ns,
		strips->is_part ? "true" : "false", strips->by_launch ? "true" : "false",
		has_boxes ? strips->boxes.nr_boxes : 0, strips->ticks.first);
	fprintf(out,
		",\"spanNs\":%" PRIu64 ",\"binNs\":%" PRIu64 ",\"bins\":%" PRIu32
		",\"apart\":%" PRIu32 ",\"ticks\":%" PRIu32 ",\"leftOut\":%" PRIu32
		",\"missing\":%" PRIu32,
		strips->end_ns - strips->first_ns, strips->axis.bin_ns, strips->axis.nr_bins,
		strips->ticks.apart, count_ticks(&strips->ticks), strips->nr_left_out,
		strips->nr_missing);
	write_losses(out, &strips->counts);
	fputs(",\"path\":", out);
	html_text_json(out, path);
	fputs(",\n\"strips\":[", out);
	for (uint32_t i = 0; i < strips->nr_strips; i++) {
		const struct time_strip *strip = &strips->strips[i];

		fputs(i ? ",[" : "[", out);
		html_text_json(out, strip->host);
		fprintf(out, ",%" PRId32 ",%" PRId32 "]", strip->device.gpu, strip->device.rank);
	}
	fputs("]},\n", out);
}

/* Sums are rounded, not parts: so what stands on one another is right. */
static uint64_t level_of(const struct time_strips *strips, const struct time_strip *strip,
			 uint32_t bin, uint32_t part)
{
	const struct strip_axis *axis = &strips->axis;
	const uint64_t *ns = &strip->bins.ns[(size_t)bin * STRIP_PARTS];
	const uint64_t begin_ns = axis->first_ns + bin * axis->bin_ns;
	const uint64_t end_ns = begin_ns + axis->bin_ns;
	const uint64_t width_ns = (end_ns < strips->end_ns ? end_ns : strips->end_ns) -
				  (begin_ns > strips->first_ns ? begin_ns : strips->first_ns);
	uint64_t before_ns = 0, most_ns = 0;

	for (uint32_t i = 0; i < STRIP_PARTS; i++) {
		before_ns += i < part ? ns[i] : 0;
		most_ns += ns[i];
	}
	/* The last bin may have work behind the end that the heads of blocks tell. */
	most_ns = most_ns > width_ns ? most_ns : width_ns;
	return ((before_ns + ns[part]) * STRIPS_WRITER_LEVELS + most_ns / 2) / most_ns -
	       (before_ns * STRIPS_WRITER_LEVELS + most_ns / 2) / most_ns;
}

static void put_levels(struct column_writer *writer, const struct time_strips *strips)
{
	for (uint32_t i = 0; i < strips->nr_strips; i++)
		for (uint32_t part = 0; part < STRIP_PARTS; part++)
			for (uint32_t bin = 0; bin < strips->axis.nr_bins; bin++)
				column_writer_put(writer,
						  level_of(strips, &strips->strips[i], bin, part));
	column_writer_end(writer);
}

void strips_writer_columns(struct column_writer *writer, const struct time_strips *strips)
{
	const struct step_ticks *ticks = &strips->ticks;
	uint64_t last_ns = strips->first_ns;

	put_levels(writer, strips);
	for (uint32_t i = 0; i < STEP_TICKS_MOST; i++)
		if (ticks->begins_ns[i])
			column_writer_put(writer, i);
	column_writer_end(writer);
	for (uint32_t i = 0; i < STEP_TICKS_MOST; i++) {
		if (!ticks->begins_ns[i])
			continue;
		column_writer_signed(writer, (int64_t)(ticks->begins_ns[i] - last_ns));
		last_ns = ticks->begins_ns[i];
	}
	column_writer_end(writer);
}

static uint64_t launch_code(const struct time_box *box)
{
	const int64_t before_ns = (int64_t)(box->start_ns - box->launch_ns);

	if (!box->launch_ns)
		return 0;
	return (before_ns < 0 ? 2 * (uint64_t)-before_ns - 1 : 2 * (uint64_t)before_ns) + 1;
}

static void put_times(struct column_writer *writer, const struct time_strips *strips)
{
	const struct time_boxes *boxes = &strips->boxes;
	uint64_t last_ns = strips->first_ns;

	for (uint32_t i = 0; i < boxes->nr_boxes; i++) {
		column_writer_signed(writer, (int64_t)(boxes->boxes[i].start_ns - last_ns));
		last_ns = boxes->boxes[i].start_ns;
	}
	column_writer_end(writer);
	for (uint32_t i = 0; i < boxes->nr_boxes; i++)
		column_writer_put(writer, boxes->boxes[i].end_ns - boxes->boxes[i].start_ns);
	column_writer_end(writer);
	for (uint32_t i = 0; i < boxes->nr_boxes; i++)
		column_writer_put(writer, boxes->boxes[i].wait_ns);
	column_writer_end(writer);
	for (uint32_t i = 0; i < boxes->nr_boxes; i++)
		column_writer_put(writer, launch_code(&boxes->boxes[i]));
	column_writer_end(writer);
}

void strips_writer_boxes(struct column_writer *writer, const struct time_strips *strips,
			 const struct report_piece *pieces)
{
	const struct time_box *boxes = strips->boxes.boxes;
	const uint32_t nr = strips->boxes.nr_boxes;

	for (uint32_t i = 0; i < nr; i++)
		column_writer_put(writer, boxes[i].device);
	column_writer_end(writer);
	for (uint32_t i = 0; i < nr; i++)
		column_writer_put(writer, boxes[i].part);
	column_writer_end(writer);
	put_times(writer, strips);
	for (uint32_t i = 0; i < nr; i++)
		column_writer_put(writer, boxes[i].key.context_id);
	column_writer_end(writer);
	for (uint32_t i = 0; i < nr; i++)
		column_writer_put(writer, boxes[i].key.stream_id);
	column_writer_end(writer);
	for (uint32_t i = 0; i < nr; i++)
		column_writer_put(writer, boxes[i].key.tid);
	column_writer_end(writer);
	for (uint32_t i = 0; i < nr; i++)
		column_writer_put(writer, pieces[i].node);
	column_writer_end(writer);
	for (uint32_t i = 0; i < nr; i++)
		column_writer_put(writer, pieces[i].name);
	column_writer_end(writer);
}
