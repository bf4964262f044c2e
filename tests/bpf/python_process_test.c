#include "tests/support/cmocka_test.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node-agent/kernel/python_file.h"
#include "node-agent/kernel/remote_memory.h"
#include "python_fixture.h"

static uint32_t nr_reads;

ssize_t __real_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long nr_local,
				const struct iovec *remote, unsigned long nr_remote,
				unsigned long flags);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long nr_local,
				const struct iovec *remote, unsigned long nr_remote,
				unsigned long flags);

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long nr_local,
				const struct iovec *remote, unsigned long nr_remote,
				unsigned long flags)
{
	nr_reads++;
	return __real_process_vm_readv(pid, local, nr_local, remote, nr_remote, flags);
}

static void an_interpreter_is_found_and_its_frames_have_names(void **state)
{
	(void)state;
	for (unsigned minor = 8; minor <= 14; minor++) {
		struct python_fixture *fixture = python_fixture_create(minor, minor);

		made_interpreter_start(&fixture->made);
		assert_true(
			python_process_find(fixture->python, fixture->modules, &fixture->where));
		assert_int_equal(python_process_state(fixture->python), PYTHON_PROCESS_READY);
		assert_int_equal(fixture->where.interpreters,
				 (uint64_t)(uintptr_t)fixture->made.runtime +
					 fixture->made.runtime_interpreters);
		assert_true(fixture->where.frame_size <= SAMPLE_PYTHON_FRAME_MAX);
		assert_true(fixture->where.code_size <= SAMPLE_PYTHON_CODE_MAX);
		uint64_t loop;
		memcpy(&loop, &fixture->made.loop, sizeof(loop));
		assert_true(python_process_is_loop(fixture->python, loop));
		assert_false(python_process_is_loop(fixture->python, loop - 1));

		struct sample_python_frame raw[] = {
			python_fixture_raw_frame(fixture, &fixture->made.leaf, 0),
			python_fixture_raw_frame(fixture, &fixture->made.root, 0)};
		assert_false(python_fixture_read(fixture, raw, 2));
		assert_false(fixture->frames.unread);
		assert_int_equal(fixture->frames.nr, 2);
		python_fixture_check_name(fixture, 0, "leaf");
		python_fixture_check_name(fixture, 1, "root");
		if (minor >= 11)
			assert_int_equal(fixture->frames.frames[1].offset, 204);
		/* It is known already, and still there. */
		assert_false(
			python_process_find(fixture->python, fixture->modules, &fixture->where));
		assert_string_equal(python_fixture_notice(), "");
		python_fixture_destroy(fixture);
	}
}

static void segments_end_where_the_version_says(void **state)
{
	struct python_fixture *fixture = python_fixture_create_ready(9);
	struct sample_python_frame raw[4];

	(void)state;
	raw[0] = raw[1] = python_fixture_raw_frame(fixture, &fixture->made.leaf, 0);
	python_fixture_read(fixture, raw, 2);
	assert_true(fixture->frames.segment_end[0] && fixture->frames.segment_end[1]);
	python_fixture_destroy(fixture);

	fixture = python_fixture_create_ready(11);
	raw[0] = raw[2] = python_fixture_raw_frame(fixture, &fixture->made.leaf, 0);
	raw[1] = raw[3] =
		python_fixture_raw_frame(fixture, &fixture->made.root, 1u << SAMPLE_PYTHON_OWNER);
	python_fixture_read(fixture, raw, 4);
	assert_int_equal(fixture->frames.nr, 4);
	assert_false(fixture->frames.segment_end[0] || fixture->frames.segment_end[2]);
	assert_true(fixture->frames.segment_end[1] && fixture->frames.segment_end[3]);
	python_fixture_destroy(fixture);

	/* The interpreter's own frames end them, and are not shown. */
	fixture = python_fixture_create_ready(12);
	raw[0] = raw[2] = python_fixture_raw_frame(fixture, &fixture->made.leaf, 0);
	raw[1] = raw[3] =
		python_fixture_raw_frame(fixture, &fixture->made.root, 3u << SAMPLE_PYTHON_OWNER);
	python_fixture_read(fixture, raw, 4);
	assert_int_equal(fixture->frames.nr, 2);
	assert_true(fixture->frames.segment_end[0] && fixture->frames.segment_end[1]);
	python_fixture_check_name(fixture, 1, "leaf");
	python_fixture_destroy(fixture);
}

static void frames_that_have_not_begun_are_left_out(void **state)
{
	struct python_fixture *fixture = python_fixture_create_ready(12);
	struct sample_python_frame raw[3];

	(void)state;
	fake_object_put32(&fixture->made.leaf.code,
			  fixture->made.library.layout.code_first_traceable, 5);
	raw[0] = python_fixture_raw_frame(fixture, &fixture->made.leaf, 0);
	raw[1] = python_fixture_raw_frame(fixture, &fixture->made.root, 0);
	raw[2] = python_fixture_raw_frame(fixture, &fixture->made.root, 3u << SAMPLE_PYTHON_OWNER);
	python_fixture_read(fixture, raw, 3);
	assert_int_equal(fixture->frames.nr, 1);
	python_fixture_check_name(fixture, 0, "root");
	/* Unless a loop would run nothing; and generators have always begun. */
	raw[1] = raw[2];
	python_fixture_read(fixture, raw, 2);
	assert_int_equal(fixture->frames.nr, 1);
	python_fixture_check_name(fixture, 0, "leaf");
	raw[1] = python_fixture_raw_frame(fixture, &fixture->made.root, 0);
	raw[0].code |= (uint64_t)PYTHON_OWNER_GENERATOR << SAMPLE_PYTHON_CODE_BITS;
	python_fixture_read(fixture, raw, 3);
	assert_int_equal(fixture->frames.nr, 2);
	python_fixture_destroy(fixture);
}

static void other_code_at_an_address_has_no_name_of_the_old(void **state)
{
	(void)state;
	for (unsigned minor = 11; minor <= 12; minor++) {
		struct python_fixture *fixture = python_fixture_create_ready(minor);
		struct fake_code *code = &fixture->made.leaf;
		struct sample_python_frame old = python_fixture_raw_frame(fixture, code, 0);

		python_fixture_read(fixture, &old, 1);
		python_fixture_check_name(fixture, 0, "leaf");
		fake_code_fill(code, &fixture->made.library, "/made/made.py", "new", 100);
		fake_object_put64(&code->name, PYTHON_STRING_HASH, 77);
		if (minor >= 12)
			fake_object_put32(&code->code, fixture->made.library.layout.code_version,
					  9);
		struct sample_python_frame new = python_fixture_raw_frame(fixture, code, 0);
		python_fixture_read(fixture, &new, 1);
		python_fixture_check_name(fixture, 0, "new");
		/* What was read before is kept; what was never read, and is not there any more, has no name. */
		python_fixture_read(fixture, &old, 1);
		python_fixture_check_name(fixture, 0, "leaf");
		assert_false(fixture->frames.unread);
		old.identity ^= 1;
		python_fixture_read(fixture, &old, 1);
		python_fixture_check_name(fixture, 0, "[frames missing]");
		assert_true(fixture->frames.unread);
		assert_int_equal(python_process_state(fixture->python), PYTHON_PROCESS_READY);
		python_fixture_destroy(fixture);
	}
}

static void waits_tell_code_by_its_addresses(void **state)
{
	struct python_fixture *fixture = python_fixture_create_ready(10);
	const struct fake_code *code = &fixture->made.leaf;
	struct sample_python_frame raw = python_fixture_raw_frame(fixture, code, 0);
	struct sample_python_identity identity = {
		.file = fake_object_address(&code->file),
		.name = fake_object_address(&code->name),
		.lines = fake_object_address(&code->lines),
		.first_line = 100,
	};

	(void)state;
	assert_int_not_equal(raw.identity, sample_python_hash(&identity));
	raw.identity = sample_python_hash(&identity);
	python_fixture_read(fixture, &raw, 1);
	python_fixture_check_name(fixture, 0, "leaf");
	identity.first_line++;
	raw.identity = sample_python_hash(&identity);
	python_fixture_read(fixture, &raw, 1);
	python_fixture_check_name(fixture, 0, "[frames missing]");
	python_fixture_destroy(fixture);
}

static void names_that_make_no_sense_cost_themselves_only(void **state)
{
	struct python_fixture *fixture = python_fixture_create_ready(12);
	struct fake_code *code = &fixture->made.leaf;
	struct sample_python_frame raw = python_fixture_raw_frame(fixture, &fixture->made.root, 0);
	const uint32_t sizes[] = {0, 1u << 20, INT32_MAX};

	(void)state;
	python_fixture_read(fixture, &raw, 1);
	for (uint32_t i = 0; i < 3; i++) {
		fake_object_put64(&code->name, PYTHON_OBJECT_SIZE, sizes[i]);
		fake_object_put32(&code->code, fixture->made.library.layout.code_version, i + 1);
		raw = python_fixture_raw_frame(fixture, code, 0);
		python_fixture_read(fixture, &raw, 1);
		python_fixture_check_name(fixture, 0, i == 0 ? "<unknown>" : "<unreadable>");
	}
	/* Longer than anything, of no kind, not a string, not there at all. Their callers have names. */
	struct sample_python_frame frames[] = {
		raw, python_fixture_raw_frame(fixture, &fixture->made.root, 0)};
	fake_object_put64(&code->name, PYTHON_OBJECT_SIZE, UINT64_MAX);
	fake_object_put32(&code->code, fixture->made.library.layout.code_version, 10);
	frames[0] = python_fixture_raw_frame(fixture, code, 0);
	python_fixture_read(fixture, frames, 2);
	python_fixture_check_name(fixture, 0, "[frames missing]");
	python_fixture_check_name(fixture, 1, "root");
	fake_object_put64(&code->code, fixture->made.library.layout.code_qualified_name, 8);
	fake_object_put32(&code->code, fixture->made.library.layout.code_version, 11);
	frames[0] = python_fixture_raw_frame(fixture, code, 0);
	python_fixture_read(fixture, frames, 2);
	python_fixture_check_name(fixture, 0, "[frames missing]");
	python_fixture_check_name(fixture, 1, "root");
	frames[0].code = 16;
	frames[0].identity = 5;
	python_fixture_read(fixture, frames, 2);
	python_fixture_check_name(fixture, 0, "[frames missing]");
	python_fixture_check_name(fixture, 1, "root");
	python_fixture_destroy(fixture);
}

static void frames_that_never_made_sense_are_refused_in_the_end(void **state)
{
	struct python_fixture *fixture = python_fixture_create_ready(12);
	struct sample_python_frame raw = {.code = 4096, .identity = 1};
	unsigned tries = 0;

	(void)state;
	while (!python_fixture_read(fixture, &raw, 1) && tries < 1000) {
		assert_int_equal(fixture->frames.nr, 0);
		assert_true(fixture->frames.unread);
		tries++;
	}
	assert_in_range(tries, 1, 999);
	assert_int_equal(python_process_state(fixture->python), PYTHON_PROCESS_REFUSED);
	assert_non_null(strstr(python_fixture_notice(), "its frames are not where they should be"));
	python_fixture_read(fixture, &raw, 1);
	assert_int_equal(fixture->frames.nr, 0);
	python_fixture_destroy(fixture);
}

/* As often as it wants to; it must not want to for ever. */
static void find_refused(struct python_fixture *fixture)
{
	unsigned looks = 0;

	do {
		assert_string_equal(python_fixture_notice(), "");
		assert_false(
			python_process_find(fixture->python, fixture->modules, &fixture->where));
	} while (python_process_state(fixture->python) == PYTHON_PROCESS_EARLY && ++looks < 100);
	assert_in_range(looks, 1, 99);
	assert_int_equal(python_process_state(fixture->python), PYTHON_PROCESS_REFUSED);
	assert_int_equal(fixture->where.interpreters, 0);
}

static void another_version_is_refused_by_name(void **state)
{
	const unsigned named[] = {13, 14}, minors[] = {14, 13};

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		struct python_fixture *fixture = python_fixture_create(named[i], minors[i]);

		find_refused(fixture);
		assert_non_null(strstr(python_fixture_notice(),
				       "its _PyRuntime is not that of this version"));
		python_fixture_destroy(fixture);
	}
}

static void threads_that_are_not_there_are_refused(void **state)
{
	struct python_fixture *fixture = python_fixture_create(12, 12);

	(void)state;
	fake_object_put64(&fixture->made.thread, fixture->made.library.layout.thread_interpreter,
			  1234);
	made_interpreter_start(&fixture->made);
	find_refused(fixture);
	assert_non_null(
		strstr(python_fixture_notice(), "its threads are not where they should be"));
	python_fixture_destroy(fixture);
}

static void what_is_still_being_loaded_is_looked_at_again(void **state)
{
	(void)state;
	for (unsigned minor = 9; minor <= 13; minor += 4) {
		struct python_fixture *fixture = python_fixture_create(minor, minor);
		uint64_t *runtime = fixture->made.runtime;
		uint64_t *head = &runtime[fixture->made.runtime_interpreters / sizeof(uint64_t)];
		uint64_t first = runtime[0];

		/* The file's bytes are where its data will be. */
		runtime[0] = minor == 13 ? 77 : first;
		*head = 8;
		assert_false(
			python_process_find(fixture->python, fixture->modules, &fixture->where));
		assert_int_equal(python_process_state(fixture->python), PYTHON_PROCESS_EARLY);
		assert_int_equal(fixture->where.interpreters, 0);
		runtime[0] = first;
		made_interpreter_start(&fixture->made);
		assert_true(
			python_process_find(fixture->python, fixture->modules, &fixture->where));
		assert_int_equal(python_process_state(fixture->python), PYTHON_PROCESS_READY);
		assert_string_equal(python_fixture_notice(), "");
		python_fixture_destroy(fixture);
	}
}

static void an_interpreter_that_is_unmapped_is_forgotten(void **state)
{
	struct python_fixture *fixture = python_fixture_create_ready(12);

	(void)state;
	made_interpreter_destroy(&fixture->made);
	assert_true(module_table_reread(fixture->modules));
	assert_true(python_process_find(fixture->python, fixture->modules, &fixture->where));
	assert_int_equal(fixture->where.interpreters, 0);
	assert_int_equal(python_process_state(fixture->python), PYTHON_PROCESS_NONE);
	assert_false(python_process_find(fixture->python, fixture->modules, &fixture->where));
	python_fixture_destroy(fixture);
}

static void files_are_looked_into_by_their_names(void **state)
{
	static const char *const yes[] = {"/usr/lib/libpython3.11.so.1.0", "/usr/bin/python3.12",
					  "python"};
	static const char *const no[] = {"/usr/lib/python3/libc.so.6", "/usr/bin/pypy3", "", "/"};

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		assert_true(python_file_is_named(yes[i], strlen(yes[i])));
	for (uint32_t i = 0; i < 4; i++)
		assert_false(python_file_is_named(no[i], strlen(no[i])));
}

static void count_missed(void *context)
{
	++*(uint32_t *)context;
}

/* Its memory is a copy of the test's own as it was, and may become different. */
struct child {
	pid_t pid;
	int end; /* a pipe: closed, it ends */
};

/* The code that only the child has is at this function's address there. */
static struct child fork_child(struct fake_code *changed, const struct python_library *library)
{
	struct child child;
	int ends[2], ready[2];
	char byte;

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(pipe(ready), 0);
	child.pid = fork();
	assert_true(child.pid >= 0);
	if (child.pid == 0) {
		close(ends[1]);
		fake_code_fill(changed, library, "/made/made.py", "own", 300);
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		_exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ends[0]);
	close(ready[0]);
	close(ready[1]);
	child.end = ends[1];
	return child;
}

static void end_child(const struct child *child)
{
	int status;

	close(child->end);
	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
	assert_int_equal(status, 0);
}

static void a_forked_process_that_is_gone_has_its_parents_code(void **state)
{
	struct python_fixture *fixture = python_fixture_create_ready(11);
	const struct sample_python_frame leaf =
		python_fixture_raw_frame(fixture, &fixture->made.leaf, 0);
	const struct sample_python_frame root =
		python_fixture_raw_frame(fixture, &fixture->made.root, 0);
	uint32_t missed = 0;

	(void)state;
	struct child child = fork_child(&fixture->made.root, &fixture->made.library);
	fixture->scope.missed = count_missed;
	fixture->scope.context = &missed;
	struct module_table *modules = module_table_create(ring_outputs_modules(&fixture->outputs),
							   child.pid, getuid(), true);
	struct python_process *python =
		python_process_create(&fixture->scope, &fixture->outputs, child.pid);
	struct python_process *parent = fixture->python;

	python_process_inherit(python, python_process_codes(parent));
	assert_true(module_table_reread(modules));
	assert_true(python_process_find(python, modules, &fixture->where));
	end_child(&child);
	fixture->python = python;
	python_fixture_read(fixture, &leaf, 1);
	python_fixture_check_name(fixture, 0, "leaf");
	python_fixture_read(fixture, &root, 1);
	python_fixture_check_name(fixture, 0, "root");
	assert_int_equal(missed, 0);
	/* What the parent has no more, and never was read in it, is nobody's. */
	struct sample_python_frame other = root;
	other.identity ^= 1;
	python_fixture_read(fixture, &other, 1);
	python_fixture_check_name(fixture, 0, "[frames missing]");
	assert_int_equal(missed, 1);
	/* The parent's end is not the end of what is known of it. */
	python_process_destroy(parent);
	python_fixture_read(fixture, &leaf, 1);
	python_fixture_check_name(fixture, 0, "leaf");
	module_table_destroy(modules);
	python_fixture_destroy(fixture);
}

static void a_forked_process_that_runs_is_asked_itself(void **state)
{
	struct python_fixture *fixture = python_fixture_create_ready(11);
	struct made_interpreter *made = &fixture->made;

	(void)state;
	struct child child = fork_child(&made->root, &made->library);
	struct module_table *modules = module_table_create(ring_outputs_modules(&fixture->outputs),
							   child.pid, getuid(), true);
	struct python_process *parent = fixture->python;

	fixture->python = python_process_create(&fixture->scope, &fixture->outputs, child.pid);
	python_process_inherit(fixture->python, python_process_codes(parent));
	assert_true(module_table_reread(modules));
	assert_true(python_process_find(fixture->python, modules, &fixture->where));
	/* As it is in the child: the parent's own is made the same, but for its name. */
	fake_code_fill(&made->root, &made->library, "/made/made.py", "own", 300);
	const struct sample_python_frame own = python_fixture_raw_frame(fixture, &made->root, 0);
	fake_code_fill(&made->root, &made->library, "/made/made.py", "not", 300);
	assert_int_equal(python_fixture_raw_frame(fixture, &made->root, 0).identity, own.identity);
	python_fixture_read(fixture, &own, 1);
	python_fixture_check_name(fixture, 0, "own");
	end_child(&child);
	python_process_destroy(parent);
	module_table_destroy(modules);
	python_fixture_destroy(fixture);
}

static void a_code_is_read_in_three_calls(void **state)
{
	(void)state;
	for (unsigned minor = 8; minor <= 14; minor++) {
		struct python_fixture *fixture = python_fixture_create_ready(minor);
		const struct sample_python_frame leaf =
			python_fixture_raw_frame(fixture, &fixture->made.leaf, 0);

		nr_reads = 0;
		python_fixture_read(fixture, &leaf, 1);
		python_fixture_check_name(fixture, 0, "leaf");
		assert_in_range(nr_reads, 1, 3);
		python_fixture_destroy(fixture);
	}
}

static void memory_is_read_whole_or_not(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char bytes[16];

	(void)state;
	munmap(pages + page, page);
	assert_int_equal(
		remote_memory_read(getpid(), (uint64_t)(uintptr_t)(pages + page - 16), bytes, 16),
		0);
	assert_int_not_equal(
		remote_memory_read(getpid(), (uint64_t)(uintptr_t)(pages + page - 8), bytes, 16),
		0);
	munmap(pages, page);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_interpreter_is_found_and_its_frames_have_names),
		cmocka_unit_test(segments_end_where_the_version_says),
		cmocka_unit_test(frames_that_have_not_begun_are_left_out),
		cmocka_unit_test(other_code_at_an_address_has_no_name_of_the_old),
		cmocka_unit_test(waits_tell_code_by_its_addresses),
		cmocka_unit_test(names_that_make_no_sense_cost_themselves_only),
		cmocka_unit_test(frames_that_never_made_sense_are_refused_in_the_end),
		cmocka_unit_test(another_version_is_refused_by_name),
		cmocka_unit_test(threads_that_are_not_there_are_refused),
		cmocka_unit_test(what_is_still_being_loaded_is_looked_at_again),
		cmocka_unit_test(an_interpreter_that_is_unmapped_is_forgotten),
		cmocka_unit_test(files_are_looked_into_by_their_names),
		cmocka_unit_test(a_forked_process_that_is_gone_has_its_parents_code),
		cmocka_unit_test(a_forked_process_that_runs_is_asked_itself),
		cmocka_unit_test(a_code_is_read_in_three_calls),
		cmocka_unit_test(memory_is_read_whole_or_not),
	};

	if (argc != 2)
		return 2;
	python_fixture_folder(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
