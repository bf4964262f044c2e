#include "cause_function.h"

#include <string.h>

#include "report/names/cuda_name.h"

/* For example "libc.so.6+0x98e51". */
static bool is_address(const char *name)
{
	const char *plus = strrchr(name, '+');

	return plus && plus > name && strncmp(plus, "+0x", 3) == 0 &&
	       plus[3 + strspn(plus + 3, "0123456789abcdef")] == '\0';
}

bool cause_function_is(const char *name, const char *what)
{
	size_t size = strlen(name);

	if (size == 0 || name[0] == '[' || is_address(name) ||
	    cuda_name_of(name, size) != CUDA_NAME_NONE ||
	    (size >= 4 && strcmp(name + size - 4, "_[k]") == 0))
		return false;
	return !*what || !strstr(name, what) || strchr(name, ':');
}

bool cause_function_is_python(const char *name)
{
	const char *colon = strchr(name, ':');

	return colon && colon[1] != ':' && name[0] != '[';
}

bool cause_function_waits(const char *name)
{
	static const char *const files[] = {"threading.py",
					    "queue.py",
					    "selectors.py",
					    "socket.py",
					    "ssl.py",
					    "subprocess.py",
					    "concurrent/futures/_base.py",
					    "multiprocessing/connection.py",
					    "multiprocessing/queues.py",
					    "multiprocessing/synchronize.py"};
	const size_t size = strcspn(name, ":");

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (strlen(files[i]) == size && memcmp(files[i], name, size) == 0)
			return true;
	return false;
}
