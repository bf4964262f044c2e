#include "cli/job/leftovers.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/base/private_dir.h"
#include "cli/job/rendezvous_search.h"
#include "cli/job/step_dir.h"

static const struct job_step step = {.key = "4711.0", .rank = 0, .world_size = 2};
static char folder[64];
static int quiet[2]; /* nothing ever comes from quiet[0] */

static int set_up(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/leftovers_test_XXXXXX"); /* no dot: paths may have none */
	assert_non_null(mkdtemp(folder));
	setenv("XDG_RUNTIME_DIR", folder, 1);
	unsetenv("TMPDIR");
	unsetenv("SLURMD_NODENAME");
	return pipe(quiet);
}

static int tear_down(void **state)
{
	char command[96];

	(void)state;
	close(quiet[0]);
	close(quiet[1]);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

static bool is_there(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0;
}

static void touch(const char *directory, const char *name)
{
	char path[192];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	close(open(path, O_WRONLY | O_CREAT, 0600));
}

/* Does it in a process that is then killed. */
static void do_and_die(void (*deed)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		deed();
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

static struct step_dir keepers;
static struct private_dir sockets;

static void serve_a_step(void)
{
	if (step_dir_lock(&keepers, &step, NULL) || step_dir_live(&keepers))
		_exit(1);
	touch(keepers.path, STEP_DIR_AGENT);
	touch(keepers.path, STEP_DIR_MEMBERS);
	touch(keepers.path, "agent.guests");
	step_dir_unlock(&keepers);
}

static void serve_alone(void)
{
	if (private_dir_create(&sockets))
		_exit(1);
	touch(sockets.path, STEP_DIR_AGENT);
	touch(sockets.path, "agent.guests");
}

static unsigned int count_entries(void)
{
	char command[128];
	unsigned int count = 0;

	snprintf(command, sizeof(command), "ls -A %s | wc -l", folder);
	FILE *pipe = popen(command, "r");
	assert_non_null(pipe);
	assert_int_equal(fscanf(pipe, "%u", &count), 1);
	pclose(pipe);
	return count;
}

static void what_a_killed_keeper_left_is_removed(void **state)
{
	(void)state;
	do_and_die(serve_a_step);
	do_and_die(serve_alone);
	assert_int_equal(count_entries(), 2);
	leftovers_remove_sockets();
	assert_int_equal(count_entries(), 0);
}

static void what_belongs_to_a_living_run_stays(void **state)
{
	(void)state;
	serve_a_step();
	serve_alone();
	leftovers_remove_sockets();
	assert_true(is_there(keepers.path));
	assert_true(is_there(sockets.path));
	assert_int_equal(count_entries(), 2);
	private_dir_remove(&sockets);
}

/* Somebody joins, and nobody serves yet. */
static void a_directory_that_is_locked_stays(void **state)
{
	struct step_dir dir;

	(void)state;
	assert_int_equal(step_dir_lock(&dir, &step, NULL), 0);
	leftovers_remove_sockets();
	assert_true(is_there(dir.path));
	step_dir_unlock(&dir);
	leftovers_remove_sockets();
	assert_false(is_there(dir.path));
}

static void what_others_can_enter_or_own_and_what_is_no_such_directory_stays(void **state)
{
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/" STEP_DIR_PREFIX "0123456789abcdef", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chmod(path, 0770), 0);
	snprintf(path, sizeof(path), "%s/" STEP_DIR_PREFIX "link", folder);
	assert_int_equal(symlink("/tmp", path), 0);
	snprintf(path, sizeof(path), "%s/flamegrid-attach-1.2", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	touch(path, STEP_DIR_AGENT);
	snprintf(path, sizeof(path), "%s/" STEP_DIR_PREFIX "unlocked", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	touch(path, STEP_DIR_MEMBERS); /* by whoever knows of no lock */
	snprintf(path, sizeof(path), "%s/" PRIVATE_DIR_PREFIX "abcdef", folder);
	assert_int_equal(mkdir(path, 0700), 0); /* its maker may be about to lock it */
	if (geteuid() == 0) {
		snprintf(path, sizeof(path), "%s/" STEP_DIR_PREFIX "others", folder);
		assert_int_equal(mkdir(path, 0700), 0);
		assert_int_equal(chown(path, 12345, 12345), 0);
	}
	leftovers_remove_sockets();
	assert_int_equal(count_entries(), geteuid() == 0 ? 6 : 5);
}

/* ---- rendezvous files */

static struct rendezvous example = {
	.step = "4711.0",
	.nr_endpoints = 1,
	.keys = {.server_public = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7",
		 .client_public = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID",
		 .client_secret = "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs"},
};
static char place[128];
static struct rendezvous_file *file;

static void write_rendezvous(void)
{
	if (rendezvous_create(place, &file) || rendezvous_publish(file, &example))
		_exit(1);
}

/* Where nobody listens: a port of our own that is closed again. */
static int listen_somewhere(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(fd, 4), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	snprintf(example.endpoints[0], RENDEZVOUS_ENDPOINT_SIZE, "tcp://127.0.0.1:%d",
		 ntohs(address.sin_port));
	return fd;
}

static void a_rendezvous_goes_if_its_writer_is_gone_and_nobody_answers(void **state)
{
	char output[128];
	int listener = listen_somewhere();

	(void)state;
	snprintf(output, sizeof(output), "%s/another", folder);
	snprintf(place, sizeof(place), "%s/prof" RENDEZVOUS_SUFFIX, folder);
	do_and_die(write_rendezvous);
	assert_true(leftovers_rendezvous_lives(place));
	leftovers_remove_rendezvous(output, quiet[0]);
	assert_true(is_there(place)); /* it answers */
	close(listener);
	assert_false(leftovers_rendezvous_lives(place));
	leftovers_remove_rendezvous(output, quiet[0]);
	assert_false(is_there(place));
	assert_false(leftovers_rendezvous_lives(place));

	write_rendezvous();
	assert_true(leftovers_rendezvous_lives(place));
	leftovers_remove_rendezvous(output, quiet[0]);
	assert_true(is_there(place)); /* its writer lives */
	rendezvous_close(file);
}

static void other_files_with_such_a_name_stay(void **state)
{
	char output[128];

	(void)state;
	snprintf(output, sizeof(output), "%s/prof", folder);
	touch(folder, "a" RENDEZVOUS_SUFFIX);
	leftovers_remove_rendezvous(output, quiet[0]);
	snprintf(place, sizeof(place), "%s/a" RENDEZVOUS_SUFFIX, folder);
	assert_true(is_there(place));
}

static void a_claim_goes_with_its_rendezvous(void **state)
{
	char output[128], claim[192];

	(void)state;
	snprintf(output, sizeof(output), "%s/prof", folder);
	touch(folder, "a" RENDEZVOUS_SUFFIX);
	touch(folder, "a" RENDEZVOUS_SUFFIX RENDEZVOUS_CLAIM "0.0");
	snprintf(claim, sizeof(claim), "%s/a" RENDEZVOUS_SUFFIX RENDEZVOUS_CLAIM "0.0", folder);
	leftovers_remove_rendezvous(output, quiet[0]);
	assert_true(is_there(claim));
	snprintf(place, sizeof(place), "%s/a" RENDEZVOUS_SUFFIX, folder);
	assert_int_equal(unlink(place), 0);
	leftovers_remove_rendezvous(output, quiet[0]);
	assert_false(is_there(claim));
}

static void create_rendezvous(void)
{
	if (rendezvous_create(place, &file))
		_exit(1);
}

/* Writes the name of the only file in the folder that begins as place does, and is longer. */
static void find_unpublished(char path[static 512])
{
	const struct dirent *entry;
	const char *name = strrchr(place, '/') + 1;
	DIR *directory = opendir(folder);

	assert_non_null(directory);
	*path = '\0';
	while ((entry = readdir(directory)) != NULL)
		if (strncmp(entry->d_name, name, strlen(name)) == 0 && strcmp(entry->d_name, name))
			snprintf(path, 512, "%s/%s", folder, entry->d_name);
	closedir(directory);
}

static void a_rendezvous_that_was_not_published_goes_with_its_writer(void **state)
{
	char output[128], path[512];

	(void)state;
	snprintf(output, sizeof(output), "%s/prof", folder);
	snprintf(place, sizeof(place), "%s/prof" RENDEZVOUS_SUFFIX, folder);
	do_and_die(create_rendezvous);
	find_unpublished(path);
	assert_true(is_there(path));
	leftovers_remove_rendezvous(output, quiet[0]);
	assert_false(is_there(path));

	create_rendezvous();
	find_unpublished(path);
	leftovers_remove_rendezvous(output, quiet[0]);
	assert_true(is_there(path)); /* its writer lives */
	rendezvous_close(file);
	assert_false(is_there(path));
}

static void files_that_only_look_unpublished_stay(void **state)
{
	static const char *const names[] = {"a" RENDEZVOUS_SUFFIX ".1", "b" RENDEZVOUS_SUFFIX ".2x",
					    "c.3", "d" RENDEZVOUS_SUFFIX ".", "notes"};
	char output[128], path[256];

	(void)state;
	snprintf(output, sizeof(output), "%s/prof", folder);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		touch(folder, names[i]);
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		if (i == 0) {
			FILE *text = fopen(path, "w");

			assert_non_null(text);
			fputs("mine\n", text);
			fclose(text);
		}
	}
	snprintf(path, sizeof(path), "%s/e" RENDEZVOUS_SUFFIX ".4", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	leftovers_remove_rendezvous(output, quiet[0]);
	assert_true(is_there(path));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		assert_true(is_there(path));
	}
}

static void it_ends_with_the_first_news(void **state)
{
	char output[128];

	(void)state;
	close(listen_somewhere());
	snprintf(output, sizeof(output), "%s/prof", folder);
	snprintf(place, sizeof(place), "%s/prof" RENDEZVOUS_SUFFIX, folder);
	do_and_die(write_rendezvous);
	assert_int_equal(write(quiet[1], "x", 1), 1);
	leftovers_remove_rendezvous(output, quiet[0]);
	assert_true(is_there(place));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_a_killed_keeper_left_is_removed),
		TEST(what_belongs_to_a_living_run_stays),
		TEST(a_directory_that_is_locked_stays),
		TEST(what_others_can_enter_or_own_and_what_is_no_such_directory_stays),
		TEST(a_rendezvous_goes_if_its_writer_is_gone_and_nobody_answers),
		TEST(other_files_with_such_a_name_stay),
		TEST(a_claim_goes_with_its_rendezvous),
		TEST(a_rendezvous_that_was_not_published_goes_with_its_writer),
		TEST(files_that_only_look_unpublished_stay),
		TEST(it_ends_with_the_first_news),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
