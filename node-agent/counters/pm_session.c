#include "pm_session.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "counter_word.h"
#include "pm_abi.h"

#include "inject/cupti/cupti_refusal.h"

#define SLOW_NS 500000u /* from this interval on the small sizes do */

/* Sizes that were enough on an H200 when the buffer was emptied ten or twenty times a second. */
#define BUFFER_SMALL (16u << 20)
#define BUFFER_LARGE (64u << 20)
#define IMAGE_SMALL  512u /* samples */
#define IMAGE_LARGE  2048u

#define PART ".avg.pct_of_peak_sustained_elapsed"
#define SUM  ".sum"

/* Several counters may add up to one value. */
static const struct {
	const char *name;
	uint32_t value; /* enum counter_use; from COUNTER_USES on enum counter_traffic */
} counters[] = {
	{"sm__cycles_active" PART, COUNTER_SM},
	{"sm__warps_active_realtime" PART, COUNTER_OCCUPANCY},
	{"sm__pipe_tensor_cycles_active_realtime" PART, COUNTER_TENSOR},
	{"dram__throughput" PART, COUNTER_DRAM},
	{"dram__bytes_read" SUM, COUNTER_USES + COUNTER_DRAM_BYTES},
	{"dram__bytes_write" SUM, COUNTER_USES + COUNTER_DRAM_BYTES},
	{"nvlrx__bytes" SUM, COUNTER_USES + COUNTER_NVLINK_BYTES},
	{"nvltx__bytes" SUM, COUNTER_USES + COUNTER_NVLINK_BYTES},
	{"pcie__read_bytes" SUM, COUNTER_USES + COUNTER_PCIE_BYTES},
	{"pcie__write_bytes" SUM, COUNTER_USES + COUNTER_PCIE_BYTES},
};

#define COUNTERS (sizeof(counters) / sizeof(*counters))
#define VALUES   (COUNTER_USES + COUNTER_TRAFFICS)
#define PART_MAX 1000.0 /* a little above 100 is rounding; far above it is nonsense */

#define NO_MEMORY "there is not enough memory"

#define SIZE METRICS_ABI_SIZE

struct pm_session {
	struct pm_library *library; /* borrowed */
	size_t device;
	uint64_t interval_ns;
	const char *chip;      /* CUPTI's */
	uint8_t *availability; /* owns; NULL: CUPTI does not tell */
	void *host;            /* CUPTI's; NULL: none */
	uint8_t *config;       /* owns; until the session is disabled */
	size_t config_size;
	const char *names[COUNTERS]; /* those that this GPU has */
	uint32_t values[COUNTERS];   /* of these: as counters[].value */
	size_t nr_names;
	uint32_t known;  /* bits of values: those of which no part is missing */
	void *object;    /* CUPTI's session; NULL: none */
	uint8_t *images; /* owns: the samples that were decoded */
	size_t images_size;
	bool is_first; /* the next sample is the first one of a session */
};

static int call(const struct pm_session *session, enum pm_function function, void *params)
{
	return pm_library_call(session->library, function, params);
}

/* ---- the host's part: which counters */

static void *open_host(const struct pm_session *session)
{
	struct metrics_host params = {.size = SIZE(struct metrics_host, object),
				      .type = PM_ABI_TYPE,
				      .chip = session->chip,
				      .availability = session->availability};

	return call(session, PM_HOST_INITIALIZE, &params) ? NULL : params.object;
}

static void close_host(const struct pm_session *session, void *host)
{
	struct metrics_call params = {SIZE(struct metrics_call, object), NULL, host};

	if (host)
		pm_library_end(session->library, PM_HOST_DEINITIALIZE, &params);
}

static bool add(const struct pm_session *session, void *host, const char **names, size_t count)
{
	struct metrics_add params = {SIZE(struct metrics_add, count), NULL, host, names, count};

	return host && call(session, PM_HOST_ADD, &params) == 0;
}

/* Without the availability of a chip's counters all that it has are asked for. */
static void find_availability(struct pm_session *session)
{
	struct pm_availability params = {.size = SIZE(struct pm_availability, image),
					 .device = session->device};

	if (call(session, PM_AVAILABILITY, &params) || params.image_size == 0)
		return;
	params.image = calloc(1, params.image_size);
	if (params.image && call(session, PM_AVAILABILITY, &params) == 0)
		session->availability = params.image;
	else
		free(params.image);
}

/* Makes the image of what is sampled, of the counters chosen so far. Returns whether one pass has it all. */
static bool configure(struct pm_session *session)
{
	struct metrics_config_size size = {SIZE(struct metrics_config_size, image_size), NULL, NULL,
					   0};
	struct metrics_image image = {.size = SIZE(struct metrics_image, image)};
	struct metrics_passes passes = {.size = SIZE(struct metrics_passes, passes)};

	close_host(session, session->host);
	free(session->config);
	session->config = NULL;
	session->host = open_host(session);
	if (!add(session, session->host, session->names, session->nr_names))
		return false;
	size.object = image.object = session->host;
	if (call(session, PM_HOST_CONFIG_SIZE, &size) || size.image_size == 0)
		return false;
	session->config_size = image.image_size = passes.image_size = size.image_size;
	session->config = image.image = passes.image = calloc(1, size.image_size);
	return session->config && call(session, PM_HOST_CONFIG, &image) == 0 &&
	       call(session, PM_HOST_PASSES, &passes) == 0 && passes.passes == 1;
}

/* One counter that the chip lacks makes all of them fail, so each is asked for by itself. */
static bool is_available(const struct pm_session *session, const char *name)
{
	void *host = open_host(session);
	const bool is_there = add(session, host, &name, 1);

	close_host(session, host);
	return is_there;
}

static bool has_counter(const struct pm_session *session, const char *name)
{
	for (size_t i = 0; i < session->nr_names; i++)
		if (session->names[i] == name)
			return true;
	return false;
}

static void find_known(struct pm_session *session)
{
	session->known = session->nr_names ? COUNTER_KNOWN_MAX : 0;
	for (size_t i = 0; i < COUNTERS; i++)
		if (!has_counter(session, counters[i].name))
			session->known &= ~(1u << counters[i].value);
}

static uint32_t choose(struct pm_session *session)
{
	struct metrics_chip chip = {.size = SIZE(struct metrics_chip, name),
				    .device = session->device};
	const int result = call(session, PM_CHIP, &chip);

	if (result)
		return cupti_refusal(result);
	session->chip = chip.name;
	find_availability(session);
	for (size_t i = 0; i < COUNTERS; i++) {
		if (!is_available(session, counters[i].name))
			continue;
		session->names[session->nr_names] = counters[i].name;
		session->values[session->nr_names++] = counters[i].value;
	}
	/* The last ones matter least. */
	while (session->nr_names && !configure(session))
		session->nr_names--;
	find_known(session);
	return session->known ? COUNTER_SAMPLED : COUNTER_NOT_SUPPORTED;
}

/* ---- the device's part */

static int clear_images(struct pm_session *session)
{
	struct pm_counters params = {SIZE(struct pm_counters, counters), NULL, session->object,
				     session->images_size, session->images};

	return call(session, PM_COUNTERS, &params);
}

static uint32_t image_samples(const struct pm_session *session)
{
	return session->interval_ns < SLOW_NS ? IMAGE_LARGE : IMAGE_SMALL;
}

static int make_images(struct pm_session *session)
{
	struct pm_counters_size params = {.size = SIZE(struct pm_counters_size, counters_size),
					  .object = session->object,
					  .names = session->names,
					  .count = session->nr_names,
					  .samples = image_samples(session)};
	const int result = call(session, PM_COUNTERS_SIZE, &params);

	if (result)
		return result;
	free(session->images);
	session->images_size = params.counters_size;
	session->images = calloc(1, params.counters_size);
	if (session->images)
		return clear_images(session);
	pm_library_note(session->library, NO_MEMORY);
	return -1;
}

static int set(struct pm_session *session)
{
	struct pm_set params = {.size = SIZE(struct pm_set, append),
				.object = session->object,
				.config_size = session->config_size,
				.config = session->config,
				.buffer_size = session->interval_ns < SLOW_NS ? BUFFER_LARGE
									      : BUFFER_SMALL,
				.interval = session->interval_ns,
				.trigger = PM_ABI_BY_TIME,
				.append = PM_ABI_KEEP_OLDEST};
	int result = call(session, PM_SET, &params);

	/* A system's clock runs at about 1 GHz, and samples have their own times. */
	if (result) {
		params.trigger = PM_ABI_BY_SYSTEM_CLOCK;
		result = call(session, PM_SET, &params);
	}
	return result;
}

static void end(struct pm_session *session)
{
	struct metrics_call params = {SIZE(struct metrics_call, object), NULL, session->object};

	if (!session->object)
		return;
	pm_library_end(session->library, PM_STOP, &params);
	pm_library_end(session->library, PM_DISABLE, &params);
	session->object = NULL;
}

static uint32_t begin(struct pm_session *session)
{
	struct pm_enable enable = {.size = SIZE(struct pm_enable, object),
				   .device = session->device};
	int result;

	/* configure() may have noted calls that failed: they asked CUPTI which counters it knows. */
	pm_library_note(session->library, NULL);
	result = call(session, PM_ENABLE, &enable);

	if (!result) {
		session->object = enable.object;
		result = set(session);
	}
	if (!result)
		result = make_images(session);
	if (!result) {
		struct metrics_call start = {SIZE(struct metrics_call, object), NULL,
					     session->object};

		result = call(session, PM_START, &start);
	}
	session->is_first = true;
	if (result)
		end(session);
	return cupti_refusal(result);
}

uint32_t pm_session_open(struct pm_library *library, size_t device, uint64_t interval_ns,
			 struct pm_session **session)
{
	struct pm_session *made = calloc(1, sizeof(*made));
	uint32_t refusal = COUNTER_FAILED;

	*session = NULL;
	pm_library_note(library, made ? NULL : NO_MEMORY);
	if (!made)
		return refusal;
	made->library = library;
	made->device = device;
	made->interval_ns = interval_ns;
	refusal = choose(made);
	if (!refusal)
		refusal = begin(made);
	if (refusal)
		pm_session_close(made);
	else
		*session = made;
	return refusal;
}

void pm_session_close(struct pm_session *session)
{
	if (!session)
		return;
	end(session);
	close_host(session, session->host);
	free(session->availability);
	free(session->config);
	free(session->images);
	free(session);
}

uint32_t pm_session_restart(struct pm_session *session)
{
	end(session);
	return begin(session);
}

/* ---- samples */

/* Rounded to the nearest. */
static uint64_t whole(double number)
{
	return (uint64_t)(number + 0.5);
}

/* A value that cannot be makes what it is a part of unknown, and its bit is returned. A comparison with no number is
 * false. */
static uint32_t take_values(const struct pm_session *session, const double *values,
			    struct counter_sample *sample)
{
	const double bytes_max = (double)(sample->end_ns - sample->begin_ns) * COUNTER_BYTES_NS_MAX;
	double sums[VALUES] = {0};
	uint32_t wrong = 0;

	for (size_t i = 0; i < session->nr_names; i++) {
		const uint32_t value = session->values[i];
		const double most = value < COUNTER_USES ? PART_MAX : bytes_max;

		sums[value] += values[i];
		if (!(values[i] >= 0 && sums[value] <= most))
			wrong |= 1u << value;
	}
	sample->known = session->known & ~wrong;
	for (uint32_t i = 0; i < VALUES; i++) {
		if (!(sample->known & 1u << i))
			continue;
		if (i >= COUNTER_USES)
			sample->bytes[i - COUNTER_USES] = whole(sums[i]);
		else
			sample->use[i] = sums[i] < 100
						 ? (uint32_t)whole(sums[i] / 100 * COUNTER_WHOLE)
						 : COUNTER_WHOLE;
	}
	return session->known & wrong;
}

/* Returns whether the sample can be. *invalid: its values that cannot. */
static bool read_sample(const struct pm_session *session, size_t number,
			struct counter_sample *sample, uint32_t *invalid)
{
	double values[COUNTERS] = {0};
	struct pm_sample times = {.size = SIZE(struct pm_sample, end_ns),
				  .object = session->object,
				  .counters = session->images,
				  .counters_size = session->images_size,
				  .number = number};
	struct metrics_evaluate evaluate = {.size = SIZE(struct metrics_evaluate, values),
					    .object = session->host,
					    .counters = session->images,
					    .counters_size = session->images_size,
					    .range = number,
					    .names = (const char **)session->names,
					    .count = session->nr_names,
					    .values = values};

	*sample = (struct counter_sample){0};
	if (call(session, PM_SAMPLE, &times) || times.end_ns <= times.begin_ns ||
	    times.end_ns > INT64_MAX ||
	    times.end_ns - times.begin_ns > COUNTER_LENGTH_MOST * session->interval_ns)
		return false;
	sample->begin_ns = times.begin_ns;
	sample->end_ns = times.end_ns;
	if (call(session, PM_HOST_EVALUATE, &evaluate))
		return false;
	*invalid = take_values(session, values, sample);
	return true;
}

enum pm_round pm_session_decode(struct pm_session *session, pm_session_take *take, void *context,
				uint64_t *dropped)
{
	struct pm_decode decode = {.size = SIZE(struct pm_decode, overflow),
				   .object = session->object,
				   .counters = session->images,
				   .counters_size = session->images_size};
	struct pm_counted counted = {.size = SIZE(struct pm_counted, completed),
				     .counters = session->images,
				     .counters_size = session->images_size};
	pm_library_note(session->library, NULL);
	/* An overflow may come as an error, too. Samples that came before it are there. */
	const int result = call(session, PM_DECODE, &decode);

	if (call(session, PM_COUNTED, &counted))
		return result || decode.overflow ? PM_ROUND_FULL : PM_ROUND_ERROR;
	if (counted.completed > image_samples(session)) {
		pm_library_note(session->library, "CUPTI tells of more samples than have room");
		return PM_ROUND_ERROR;
	}
	for (size_t i = 0; i < counted.completed; i++) {
		struct counter_sample sample;
		uint32_t invalid = 0;

		if (session->is_first || !read_sample(session, i, &sample, &invalid))
			++*dropped;
		else
			take(context, &sample, invalid);
		session->is_first = false;
	}
	if (result || decode.overflow)
		return PM_ROUND_FULL;
	if (counted.completed && clear_images(session))
		return PM_ROUND_ERROR;
	return decode.reason == PM_ABI_IMAGE_FULL ? PM_ROUND_MORE : PM_ROUND_DONE;
}
