#include "sampling_session.h"

#include <string.h>
#include <sys/mman.h>

#include "inject/cupti/cupti_host_part.h"
#include "inject/cupti/cupti_library.h"

/* Of one look, and of a session's end, where CUPTI drops all that finds no room. Pages are touched as they are used. */
#define INSTRUCTIONS  SAMPLING_INSTRUCTIONS
#define REASONS_MAX   DEFINITION_STALL_REASONS_MAX
#define SCRATCH_BYTES (16u << 20) /* of CUPTI's, for samples that it has decoded */
/* The GPU's buffer of exact windows. CUPTI's own, of 512 MB, takes 0.3 s to make, for which the first launch waits. */
#define WINDOW_BYTES ((size_t)32 << 20)

/* Reasons come twice, "…" and "…_not_issued": the first counts all samples, the second those of cycles in which nothing
 * was issued. Others, such as "smsp__pcsamp_samples_data_dropped", are no reasons. */
#define REASON_PREFIX "smsp__pcsamp_warps_issue_stalled_"
#define REASON_SECOND "_not_issued"

struct session_memory {
	struct cupti_samples now, last;
	char names[REASONS_MAX][CUPTI_ABI_STALL_NAME_SIZE];
	uint32_t indexes[REASONS_MAX];
	struct cupti_instruction now_instructions[INSTRUCTIONS];
	struct cupti_instruction last_instructions[INSTRUCTIONS];
	struct cupti_stall now_stalls[INSTRUCTIONS][REASONS_MAX];
	struct cupti_stall last_stalls[INSTRUCTIONS][REASONS_MAX];
};

/* CUPTI writes into the instructions that it gives, and leaves their sizes and places as they are. */
static void fill(struct cupti_instruction *instructions, struct cupti_stall (*stalls)[REASONS_MAX])
{
	for (uint32_t i = 0; i < INSTRUCTIONS; i++)
		instructions[i] = (struct cupti_instruction){.size = sizeof(instructions[i]),
							     .stalls = stalls[i]};
}

static void clear(struct cupti_samples *samples, struct cupti_instruction *instructions)
{
	*samples = (struct cupti_samples){
		.size = sizeof(*samples), .room = INSTRUCTIONS, .instructions = instructions};
}

static struct session_memory *memory_of(const struct sampling_session *session)
{
	return (struct session_memory *)session->samples;
}

static bool make_room(struct sampling_session *session)
{
	struct session_memory *memory;

	if (session->samples)
		return true;
	memory = mmap(NULL, sizeof(*memory), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	if (memory == MAP_FAILED)
		return false;
	fill(memory->now_instructions, memory->now_stalls);
	fill(memory->last_instructions, memory->last_stalls);
	session->samples = &memory->now;
	session->last = &memory->last;
	session->names = memory->names;
	session->reasons = memory->indexes;
	return true;
}

static bool is_counted(const char *name)
{
	size_t size = strlen(name), second = strlen(REASON_SECOND);

	return size > strlen(REASON_PREFIX) &&
	       strncmp(name, REASON_PREFIX, strlen(REASON_PREFIX)) == 0 &&
	       (size < second || strcmp(name + size - second, REASON_SECOND) != 0);
}

static int find_reasons(struct sampling_session *session, const struct cupti_library *library)
{
	struct session_memory *memory = memory_of(session);
	/* The batch is not used yet: its memory takes the names in CUPTI's order. */
	char(*texts)[CUPTI_ABI_STALL_NAME_SIZE] = (void *)memory->now_stalls;
	char *names[REASONS_MAX];
	uint32_t indexes[REASONS_MAX];
	size_t count = 0;
	struct cupti_sampling_count ask = {
		.size = sizeof(ask), .context = session->context, .count = &count};
	int result = library->sampling_count_reasons(&ask);

	if (result != CUPTI_ABI_SUCCESS)
		return result;
	if (count > REASONS_MAX)
		count = REASONS_MAX;
	for (size_t i = 0; i < count; i++)
		names[i] = texts[i];
	struct cupti_sampling_reasons get = {.size = sizeof(get),
					     .context = session->context,
					     .count = count,
					     .indexes = indexes,
					     .names = names};
	result = library->sampling_get_reasons(&get);
	memset(session->names, 0, sizeof(memory->names));
	session->nr_reasons = 0;
	for (size_t i = 0; i < count && result == CUPTI_ABI_SUCCESS; i++) {
		texts[i][CUPTI_ABI_STALL_NAME_SIZE - 1] = '\0';
		if (indexes[i] >= REASONS_MAX || !is_counted(texts[i]))
			continue;
		strcpy(session->names[indexes[i]], texts[i] + strlen(REASON_PREFIX));
		session->reasons[session->nr_reasons++] = indexes[i];
	}
	/* Without a reason nothing would be sampled. */
	return result == CUPTI_ABI_SUCCESS && session->nr_reasons == 0 ? CUPTI_ABI_NOT_SUPPORTED
								       : result;
}

static int configure(struct sampling_session *session, const struct cupti_library *library,
		     struct sampling_session_way way)
{
	struct cupti_sampling_setting settings[7] = {
		{.attribute = CUPTI_ABI_SAMPLING_MODE,
		 .number = way.windows ? CUPTI_ABI_SAMPLING_SERIALIZED
				       : CUPTI_ABI_SAMPLING_CONTINUOUS},
		{.attribute = CUPTI_ABI_SAMPLING_REASONS,
		 .reasons = {session->nr_reasons, session->reasons}},
		{.attribute = CUPTI_ABI_SAMPLING_SCRATCH, .bytes = SCRATCH_BYTES},
		{.attribute = CUPTI_ABI_SAMPLING_BUFFER, .buffer = session->last},
	};
	size_t count = 4;

	if (way.windows)
		settings[count++] = (struct cupti_sampling_setting){
			.attribute = CUPTI_ABI_SAMPLING_START_STOP, .number = 1};
	if (way.period)
		settings[count++] = (struct cupti_sampling_setting){
			.attribute = CUPTI_ABI_SAMPLING_PERIOD, .number = way.period};
	/* Where CUPTI does not choose the period, it need not choose the buffer. */
	if (way.windows && way.period)
		settings[count++] = (struct cupti_sampling_setting){
			.attribute = CUPTI_ABI_SAMPLING_HARDWARE, .bytes = WINDOW_BYTES};
	struct cupti_sampling_settings call = {
		.size = sizeof(call),
		.context = session->context,
		.count = count,
		.settings = settings,
	};

	clear(session->last, memory_of(session)->last_instructions);
	return library->sampling_configure(&call);
}

static void disable(const struct sampling_session *session, const struct cupti_library *library)
{
	struct cupti_sampling_call call = {.size = sizeof(call), .context = session->context};

	library->sampling_disable(&call);
}

int sampling_session_begin(struct sampling_session *session, const struct cupti_library *library,
			   void *context, struct sampling_session_way way)
{
	struct cupti_sampling_call call = {.size = sizeof(call), .context = context};
	int result;

	if (!make_room(session))
		return CUPTI_ABI_OUT_OF_MEMORY;
	session->context = context;
	cupti_host_part_map((const void *)library->sampling_enable);
	result = library->sampling_enable(&call);
	if (result != CUPTI_ABI_SUCCESS)
		return result;
	result = find_reasons(session, library);
	if (result == CUPTI_ABI_SUCCESS)
		result = configure(session, library, way);
	if (result != CUPTI_ABI_SUCCESS)
		disable(session, library);
	return result;
}

int sampling_session_look(struct sampling_session *session, const struct cupti_library *library,
			  bool *more)
{
	struct cupti_sampling_get call = {
		.size = sizeof(call), .context = session->context, .samples = session->samples};
	int result;

	clear(session->samples, memory_of(session)->now_instructions);
	result = library->sampling_get(&call);
	/* CUPTI may have put some into the other batch, and gives them first. */
	*more = result == CUPTI_ABI_SUCCESS &&
		(session->samples->nr_remaining != 0 ||
		 (session->samples->nr_instructions != 0 && session->last->nr_instructions != 0));
	return result;
}

void sampling_session_end(struct sampling_session *session, const struct cupti_library *library)
{
	clear(session->last, memory_of(session)->last_instructions);
	disable(session, library);
}

uint32_t sampling_session_period(uint32_t clock_khz, uint32_t looks)
{
	uint64_t cycles = clock_khz * 1000ull / looks;
	uint32_t period = 5;

	while (period < 31 && (1ull << period) < cycles)
		period++;
	return period;
}

const char *sampling_session_reason(const struct sampling_session *session, uint32_t index)
{
	return index < REASONS_MAX ? session->names[index] : "";
}
