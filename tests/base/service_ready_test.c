#include "base/service_ready.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/cmocka_test.h"

/* Listens there as systemd does. */
static int listen_at(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	memcpy(address.sun_path, name, strlen(name));
	if (*name == '@')
		address.sun_path[0] = '\0';
	assert_int_equal(bind(fd, (struct sockaddr *)&address,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))),
			 0);
	return fd;
}

/* Takes the variable with this value, which is then gone; NULL: there is none. */
static int tell(const char *name)
{
	struct service_ready ready;

	if (name)
		setenv("NOTIFY_SOCKET", name, 1);
	else
		unsetenv("NOTIFY_SOCKET");
	service_ready_take(&ready);
	assert_null(getenv("NOTIFY_SOCKET"));
	return service_ready_tell(&ready);
}

static void expect_ready(const char *name)
{
	char text[64] = "";
	int fd = listen_at(name);

	assert_int_equal(tell(name), 0);
	assert_int_equal(recv(fd, text, sizeof(text), 0), 7);
	assert_string_equal(text, "READY=1");
	close(fd);
}

static void a_socket_with_a_path_is_told(void **state)
{
	char directory[] = "/tmp/service_ready_test.XXXXXX", path[64];

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/notify", directory);
	expect_ready(path);
	unlink(path);
	rmdir(directory);
}

static void a_socket_with_a_name_is_told(void **state)
{
	char name[64];

	(void)state;
	snprintf(name, sizeof(name), "@service_ready_test.%d", getpid());
	expect_ready(name);
}

static void without_systemd_nothing_is_told(void **state)
{
	(void)state;
	assert_int_equal(tell(NULL), 0);
	assert_int_equal(tell(""), 0);
}

static void what_names_no_socket_is_refused(void **state)
{
	char longest[sizeof(((struct sockaddr_un *)0)->sun_path) + 1];

	(void)state;
	memset(longest, 'x', sizeof(longest));
	longest[0] = '/';
	longest[sizeof(longest) - 1] = '\0';
	const char *const names[] = {"relative", "@", "/", "vsock:1:2", longest};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_int_equal(tell(names[i]), -EINVAL);
	assert_int_equal(tell("/nonexistent/notify"), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_socket_with_a_path_is_told),
		cmocka_unit_test(a_socket_with_a_name_is_told),
		cmocka_unit_test(without_systemd_nothing_is_told),
		cmocka_unit_test(what_names_no_socket_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
