/* A file system that stops answering while the agent reads files on it. */
#include "tests/support/cmocka_test.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/node-agent/guests/loaded_fixture.h"
#include "tests/node-agent/files/stopped_files.h"
#include "base/clock.h"
#include "node-agent/files/elf_file.h"
#include "node-agent/files/foreign_call.h"
#include "node-agent/files/foreign_file.h"
#include "node-agent/symbols/module_table.h"
#include "node-agent/files/proc_file.h"
#include "node-agent/guests/process_description.h"
#include "node-agent/kernel/remote_memory.h"
#include "node-agent/dictionary/stack_dictionary.h"
#include "node-agent/dictionary/string_dictionary.h"
#include "node-agent/symbols/symbolizer.h"
#include "node-agent/kernel/unwind_files.h"

#define WAIT_MS     30000
#define LIMIT_MS    60u
#define NOT_MAPPED  ((void *)-1)
#define OTHER_USER  65534
#define CODE_OFFSET 0x40000 /* in the C library */

static const char *library; /* the C library */
static uint64_t now_ns = 1;

uint64_t __wrap_clock_now_ns(void);

uint64_t __wrap_clock_now_ns(void)
{
	return now_ns;
}

static uint64_t vaddr_of(const void *function)
{
	struct link_map *map;
	Dl_info info;

	assert_int_not_equal(dladdr1(function, &info, (void **)&map, RTLD_DL_LINKMAP), 0);
	library = info.dli_fname;
	return (uint64_t)(uintptr_t)function - map->l_addr;
}

static void wait_until_nothing_is_left(void)
{
	while (foreign_calls_left() > 0)
		sched_yield();
}

/* ---- names -------------------------------------------------------------------------------------- */

static struct symbolizer_module module_at(uint32_t module_id, const char *path)
{
	struct symbolizer_module module = {.module_id = module_id, .path = path, .owner = getuid()};
	struct elf_file *file = loaded_fixture_open(library);

	module.build_id_size = elf_file_build_id(file, module.build_id, sizeof(module.build_id));
	elf_file_close(file);
	return module;
}

static const char *name_of(struct symbolizer *symbolizer, uint32_t module_id, uint64_t vaddr)
{
	struct pollfd ready = {.fd = symbolizer_fd(symbolizer), .events = POLLIN};
	struct symbolizer_result result;

	assert_int_equal(symbolizer_request(symbolizer, 1, module_id, vaddr), 0);
	while (symbolizer_collect(symbolizer, &result, 1) == 0)
		assert_int_equal(poll(&ready, 1, WAIT_MS), 1);
	return result.name;
}

static void names_of_other_files_come_while_one_does_not_answer(void **state)
{
	const struct symbolizer_options options = {.file_limit_ms = LIMIT_MS};
	uint64_t vaddr = vaddr_of((const void *)(uintptr_t)gnu_get_libc_version);
	struct stopped_files *files = stopped_files_mount(library);
	struct symbolizer_module stopped = module_at(1, stopped_files_path(files));
	struct symbolizer_module neighbour = module_at(2, stopped_files_path(files));
	struct symbolizer_module other = module_at(3, library);
	struct symbolizer *symbolizer;

	(void)state;
	assert_int_equal(symbolizer_start(&options, &symbolizer), 0);
	stopped_files_stop(files);
	assert_int_equal(symbolizer_add_module(symbolizer, &stopped), 0);
	assert_int_equal(symbolizer_add_module(symbolizer, &neighbour), 0);
	assert_int_equal(symbolizer_add_module(symbolizer, &other), 0);
	assert_null(name_of(symbolizer, 1, vaddr));
	assert_null(name_of(symbolizer, 2, vaddr));
	assert_string_equal(name_of(symbolizer, 3, vaddr), "gnu_get_libc_version");
	assert_int_equal(foreign_calls_left(), 1);

	/* It answers again: what was left behind has its file after all, and who comes now has, too. */
	stopped_files_go_on(files);
	wait_until_nothing_is_left();
	assert_string_equal(name_of(symbolizer, 1, vaddr), "gnu_get_libc_version");
	assert_int_equal(symbolizer_add_module(symbolizer, &neighbour), 0);
	assert_string_equal(name_of(symbolizer, 2, vaddr), "gnu_get_libc_version");
	symbolizer_stop(symbolizer, WAIT_MS);
	stopped_files_unmount(files);
}

/* Its name was asked for once, when it had a file: reading the file is what hangs. */
static void a_symbolizer_ends_while_a_file_does_not_answer(void **state)
{
	const struct symbolizer_options options = {.file_limit_ms = LIMIT_MS};
	uint64_t vaddr = vaddr_of((const void *)(uintptr_t)gnu_get_libc_version);
	struct stopped_files *files = stopped_files_mount(library);
	struct symbolizer_module stopped = module_at(1, stopped_files_path(files));
	struct symbolizer *symbolizer;

	(void)state;
	assert_int_equal(symbolizer_start(&options, &symbolizer), 0);
	assert_int_equal(symbolizer_add_module(symbolizer, &stopped), 0);
	assert_null(name_of(symbolizer, 9, 0)); /* the file is open by then */
	stopped_files_stop(files);
	assert_null(name_of(symbolizer, 1, vaddr));
	assert_int_equal(foreign_calls_left(), 1);
	stopped_files_go_on(files);
	wait_until_nothing_is_left();
	symbolizer_stop(symbolizer, WAIT_MS);
	stopped_files_unmount(files);
}

static struct symbolizer_result next_result(struct symbolizer *symbolizer)
{
	struct pollfd ready = {.fd = symbolizer_fd(symbolizer), .events = POLLIN};
	struct symbolizer_result result;

	while (symbolizer_collect(symbolizer, &result, 1) == 0)
		assert_int_equal(poll(&ready, 1, WAIT_MS), 1);
	return result;
}

/* Whatever time a file system takes, the files of its user alone wait for it: opening the one, finding names in the
 * other. */
static void names_of_other_users_do_not_wait_for_a_file_that_is_slow(void **state)
{
	const struct symbolizer_options options = {.file_limit_ms = 3600000};
	uint64_t vaddr = vaddr_of((const void *)(uintptr_t)gnu_get_libc_version);
	struct stopped_files *files = stopped_files_mount(library);
	struct symbolizer_module slow = module_at(1, stopped_files_path(files));
	struct symbolizer_module known = module_at(2, stopped_files_path(files));
	struct symbolizer_module good = module_at(3, library), late = module_at(4, library);
	struct symbolizer_module next = module_at(5, library);
	struct symbolizer *symbolizer;

	(void)state;
	slow.owner = late.owner = OTHER_USER;
	good.owner = OTHER_USER - 1;
	assert_int_equal(symbolizer_start(&options, &symbolizer), 0);
	assert_int_equal(symbolizer_add_module(symbolizer, &known), 0);
	assert_int_equal(symbolizer_add_module(symbolizer, &next), 0);
	assert_int_equal(symbolizer_request(symbolizer, 1, 5, vaddr), 0);
	assert_int_equal(next_result(symbolizer).frame_id, 1); /* both files are open by then */
	assert_int_equal(symbolizer_add_module(symbolizer, &good), 0);

	stopped_files_stop(files);
	assert_int_equal(symbolizer_add_module(symbolizer, &slow), 0);
	assert_int_equal(symbolizer_add_module(symbolizer, &late), 0);
	assert_int_equal(symbolizer_request(symbolizer, 2, 4, vaddr), 0);
	assert_int_equal(symbolizer_request(symbolizer, 3, 2, vaddr), 0);
	for (uint32_t id = 10; id < 20; id++) {
		assert_int_equal(symbolizer_request(symbolizer, id, 3, vaddr), 0);
		struct symbolizer_result result = next_result(symbolizer);

		assert_int_equal(result.frame_id, id);
		assert_string_equal(result.name, "gnu_get_libc_version");
	}
	assert_false(symbolizer_idle(symbolizer));
	stopped_files_go_on(files);
	while (!symbolizer_idle(symbolizer))
		assert_string_equal(next_result(symbolizer).name, "gnu_get_libc_version");
	symbolizer_stop(symbolizer, WAIT_MS);
	stopped_files_unmount(files);
}

/* ---- what the agent's loop reads ----------------------------------------------------------------- */

static void the_loop_goes_on_without_the_module(void **state)
{
	uint64_t here = (uint64_t)(uintptr_t)the_loop_goes_on_without_the_module;
	struct module_table_outputs outputs = {.strings = string_dictionary_create(),
					       .stacks = stack_dictionary_create()};
	struct message_frame frame;

	(void)state;
	vaddr_of((const void *)(uintptr_t)gnu_get_libc_version);
	struct stopped_files *files = stopped_files_mount(library);
	int fd = open(stopped_files_path(files), O_RDONLY | O_CLOEXEC);
	char *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, CODE_OFFSET);
	assert_ptr_not_equal(code, NOT_MAPPED);
	struct module_table *table = module_table_create(outputs, getpid(), getuid(), true);
	assert_true(module_table_reread(table));

	stopped_files_stop(files);
	assert_int_equal(module_table_find(table, (uint64_t)(uintptr_t)code, &frame), 0);
	assert_int_equal(frame.module, MESSAGE_FRAME_NO_MODULE);
	assert_int_equal(foreign_calls_left(), 1);
	assert_int_equal(module_table_find(table, (uint64_t)(uintptr_t)code + 8, &frame), 0);
	assert_int_equal(frame.module, MESSAGE_FRAME_NO_MODULE);
	assert_int_equal(foreign_calls_left(), 1);
	assert_int_equal(module_table_find(table, here, &frame), 0);
	assert_int_not_equal(frame.module, MESSAGE_FRAME_NO_MODULE);

	stopped_files_go_on(files);
	wait_until_nothing_is_left();
	assert_int_equal(module_table_find(table, (uint64_t)(uintptr_t)code, &frame), 0);
	assert_int_not_equal(frame.module, MESSAGE_FRAME_NO_MODULE);
	module_table_destroy(table);
	stack_dictionary_destroy(outputs.stacks);
	string_dictionary_destroy(outputs.strings);
	munmap(code, 4096);
	close(fd);
	stopped_files_unmount(files);
}

static void look_at_nothing(struct foreign_file_visit *visit, struct elf_file *file)
{
	(void)visit;
	(void)file;
}

static void free_visit(struct foreign_file_visit *visit)
{
	free(visit);
}

/* The mapping was on a disk, and is no more; at its path another file system was mounted meanwhile. */
static void the_loop_goes_on_where_a_disk_is_none_any_more(void **state)
{
	struct foreign_file_visit *visit = calloc(1, sizeof(*visit));
	struct stopped_files *files;
	struct mapped_file_view view;

	(void)state;
	vaddr_of((const void *)(uintptr_t)gnu_get_libc_version);
	files = stopped_files_mount(library);
	const struct maps_file_entry entry = {
		.start = 4096,
		.end = 8192,
		.device = makedev(8, 1),
		.inode = 2,
		.executable = true,
		.path = stopped_files_path(files),
		.path_size = strlen(stopped_files_path(files)),
	};
	stopped_files_stop(files);
	assert_non_null(visit);
	visit->look = look_at_nothing;
	visit->destroy = free_visit;
	mapped_file_view_init(&view, getpid(), OTHER_USER, proc_file_start_ticks(getpid()));
	assert_int_equal(foreign_file_visit(&view, &entry, &visit), -ETIMEDOUT);
	assert_null(visit);
	stopped_files_go_on(files);
	wait_until_nothing_is_left();
	stopped_files_unmount(files);
}

/* ---- what the agent's loop reads of processes ----------------------------------------------------- */

static void *read_own_memory(void *address)
{
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	char byte;

	return (void *)pread(fd, &byte, 1, (off_t)(uintptr_t)address);
}

static void *change_mappings(void *tid)
{
	atomic_store((_Atomic pid_t *)tid, (pid_t)syscall(SYS_gettid));
	for (;;)
		munmap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
	return NULL;
}

/* A process of another user whose thread waits for its file with the lock of the mappings, and another thread for the
 * lock: whoever asks for its memory waits behind. *tid is the latter's. */
static pid_t start_locked(const char *path, uid_t user, _Atomic pid_t *tid)
{
	pid_t pid = fork();
	pthread_t thread;
	int status;

	if (pid != 0) {
		assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
		assert_true(WIFSTOPPED(status));
		return pid;
	}
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, CODE_OFFSET);
	if (page == NOT_MAPPED || setresuid(user, user, user) ||
	    prctl(PR_SET_DUMPABLE, 1) || prctl(PR_SET_PDEATHSIG, SIGKILL) || raise(SIGSTOP) ||
	    pthread_create(&thread, NULL, read_own_memory, page))
		_exit(1);
	change_mappings(tid);
	_exit(0);
}

static bool waits_for_lock(pid_t tid)
{
	char path[64], text[512] = "";

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = read(fd, text, sizeof(text) - 1);
	close(fd);
	return size > 0 && strstr(text, ") D ");
}

/* Lets it go on, and waits until its memory cannot be read. */
static void lock_memory(pid_t pid, _Atomic pid_t *tid)
{
	assert_int_equal(kill(pid, SIGCONT), 0);
	for (int in_a_row = 0; in_a_row < 1000; sched_yield())
		in_a_row = atomic_load(tid) && waits_for_lock(atomic_load(tid)) ? in_a_row + 1 : 0;
}

static void end_locked(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

static _Atomic pid_t *share_tids(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(page, NOT_MAPPED);
	return page;
}

static void the_loop_goes_on_without_a_command(void **state)
{
	struct string_dictionary *strings = string_dictionary_create();
	_Atomic pid_t *tid = share_tids();
	struct message message;
	uint32_t name, command;

	(void)state;
	vaddr_of((const void *)(uintptr_t)gnu_get_libc_version);
	struct stopped_files *files = stopped_files_mount(library);
	pid_t pid = start_locked(stopped_files_path(files), OTHER_USER, tid);
	stopped_files_stop(files);
	lock_memory(pid, tid);

	const struct guest_hello hello = {.pid = (uint32_t)pid};
	struct process_description *description =
		process_description_create(1, pid, &hello, strings, NULL);
	process_description_message(description, &message);
	assert_int_equal(string_dictionary_intern(strings, "stopped_files_t", 15, &name), 0);
	assert_int_equal(message.process.command, name);
	assert_int_equal(foreign_calls_left(), 1);
	process_description_read_late(description);
	assert_true(process_description_is_late(description));
	assert_false(process_description_changed(description));

	/* It is told once it can be read. */
	stopped_files_go_on(files);
	wait_until_nothing_is_left();
	now_ns += PROC_FILE_PERIOD_NS;
	process_description_read_late(description);
	assert_false(process_description_is_late(description));
	assert_true(process_description_changed(description));
	char *line = proc_file_command(getpid(), NULL);
	assert_int_equal(string_dictionary_intern(strings, line, strlen(line), &command), 0);
	process_description_message(description, &message);
	assert_int_equal(message.process.command, command);
	free(line);
	process_description_destroy(description);
	string_dictionary_destroy(strings);
	end_locked(pid);
	munmap((void *)tid, 4096);
	stopped_files_unmount(files);
}

/* Each of a user's processes could hold up the loop anew. */
static void the_loop_waits_for_a_user_only_for_a_share_of_its_time(void **state)
{
	static const uid_t users[] = {OTHER_USER, OTHER_USER, OTHER_USER, OTHER_USER - 1};
	_Atomic pid_t *tids = share_tids();
	pid_t pids[4];
	bool is_late;

	(void)state;
	vaddr_of((const void *)(uintptr_t)gnu_get_libc_version);
	struct stopped_files *files = stopped_files_mount(library);
	for (int i = 0; i < 4; i++)
		pids[i] = start_locked(stopped_files_path(files), users[i], &tids[i]);
	stopped_files_stop(files);
	for (int i = 0; i < 4; i++)
		lock_memory(pids[i], &tids[i]);
	now_ns += PROC_FILE_PERIOD_NS;

	/* The first one is waited for, and left behind; the others of its user are not asked. */
	static const uint32_t left[] = {1, 1, 1, 2};
	for (int i = 0; i < 4; i++) {
		free(proc_file_command(pids[i], &is_late));
		assert_true(is_late);
		assert_int_equal(foreign_calls_left(), left[i]);
	}
	now_ns += PROC_FILE_PERIOD_NS;
	free(proc_file_command(pids[1], &is_late));
	assert_true(is_late);
	assert_int_equal(foreign_calls_left(), 3);

	stopped_files_go_on(files);
	wait_until_nothing_is_left();
	now_ns += PROC_FILE_PERIOD_NS;
	for (int i = 0; i < 4; i++) {
		free(proc_file_command(pids[i], &is_late));
		assert_false(is_late);
		end_locked(pids[i]);
	}
	munmap((void *)tids, 4096);
	stopped_files_unmount(files);
}

static void memory_whose_file_does_not_answer_is_awaited_beside(void **state)
{
	vaddr_of((const void *)(uintptr_t)gnu_get_libc_version);
	struct stopped_files *files = stopped_files_mount(library);
	int fd = open(stopped_files_path(files), O_RDONLY | O_CLOEXEC);
	char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	char ours[] = "ours", start[4] = "", here[4] = "", more[4] = "";
	uint64_t address = (uint64_t)(uintptr_t)page;
	const struct remote_range ranges[] = {
		{(uint64_t)(uintptr_t)ours, here, 4},
		{address, more, 4},
		{(uint64_t)(uintptr_t)ours, more, 4},
	};

	(void)state;
	assert_ptr_not_equal(page, NOT_MAPPED);
	stopped_files_stop(files);
	assert_int_equal(remote_memory_read(getpid(), address, start, 4), -ETIMEDOUT);
	assert_int_equal(foreign_calls_left(), 1);
	assert_int_equal(remote_memory_read(getpid(), address, start, 4), -EHOSTDOWN);
	assert_int_equal(foreign_calls_left(), 1);
	assert_int_equal(remote_memory_read_ranges(getpid(), ranges, 3), 1);
	assert_memory_equal(here, "ours", 4);
	assert_int_equal(remote_memory_read(getpid(), ranges[0].address, more, 4), 0);
	assert_memory_equal(more, "ours", 4);

	stopped_files_go_on(files);
	wait_until_nothing_is_left();
	assert_int_equal(remote_memory_read(getpid(), address, start, 4), 0);
	assert_memory_equal(start, "\177ELF", 4);
	munmap(page, 4096);
	close(fd);
	stopped_files_unmount(files);
}

/* It is in no page of the process yet, but its file answers. */
static void memory_that_was_never_touched_is_read(void **state)
{
	vaddr_of((const void *)(uintptr_t)gnu_get_libc_version);
	int fd = open(library, O_RDONLY | O_CLOEXEC);
	char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	char start[4] = "";

	(void)state;
	assert_ptr_not_equal(page, NOT_MAPPED);
	assert_int_equal(remote_memory_read(getpid(), (uint64_t)(uintptr_t)page, start, 4), 0);
	assert_memory_equal(start, "\177ELF", 4);
	munmap(page, 4096);
	assert_int_equal(remote_memory_read(getpid(), (uint64_t)(uintptr_t)page, start, 4),
			 -EFAULT);
	assert_int_equal(remote_memory_read(getpid(), UINT64_MAX, start, 4), -EFAULT);
	close(fd);
}

static struct unwind_file *map(const char *path)
{
	struct elf_file *elf = loaded_fixture_open(path);
	struct unwind_file *file = unwind_file_map(elf);

	elf_file_close(elf);
	assert_non_null(file);
	return file;
}

static void the_loop_goes_on_without_the_rules(void **state)
{
	uint64_t first = vaddr_of((const void *)(uintptr_t)gnu_get_libc_version);
	struct stopped_files *served = stopped_files_mount(library);
	struct unwind_files *files = unwind_files_create();
	struct stat status;
	uint32_t rule, same;

	(void)state;
	assert_int_equal(stat(stopped_files_path(served), &status), 0);
	assert_int_equal(unwind_files_add(files, 1, map(stopped_files_path(served)), status.st_dev,
					  getuid()),
			 0);
	assert_int_equal(unwind_files_add(files, 2, map(library), 0, 0), 0);
	assert_true(unwind_files_find(files, 1, first, &rule));

	/* Each function's rules are on another page, sooner or later. */
	stopped_files_stop(served);
	uint64_t vaddr = first;
	while (unwind_files_find(files, 1, vaddr, &rule)) {
		assert_true(unwind_files_find(files, 2, vaddr, &same));
		assert_int_equal(rule, same);
		vaddr += 4096;
	}
	assert_int_equal(foreign_calls_left(), 1);
	assert_false(unwind_files_has(files, 1));
	assert_true(unwind_files_find(files, 2, vaddr, &same));

	stopped_files_go_on(served);
	wait_until_nothing_is_left();
	assert_int_equal(unwind_files_add(files, 1, map(stopped_files_path(served)), status.st_dev,
					  getuid()),
			 0);
	assert_true(unwind_files_find(files, 1, vaddr, &rule));
	assert_int_equal(rule, same);
	unwind_files_destroy(files);
	stopped_files_unmount(served);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_other_files_come_while_one_does_not_answer),
		cmocka_unit_test(a_symbolizer_ends_while_a_file_does_not_answer),
		cmocka_unit_test(names_of_other_users_do_not_wait_for_a_file_that_is_slow),
		cmocka_unit_test(the_loop_goes_on_without_the_module),
		cmocka_unit_test(the_loop_goes_on_where_a_disk_is_none_any_more),
		cmocka_unit_test(the_loop_goes_on_without_a_command),
		cmocka_unit_test(the_loop_waits_for_a_user_only_for_a_share_of_its_time),
		cmocka_unit_test(the_loop_goes_on_without_the_rules),
		cmocka_unit_test(memory_whose_file_does_not_answer_is_awaited_beside),
		cmocka_unit_test(memory_that_was_never_touched_is_read),
	};

	stopped_files_prepare();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
