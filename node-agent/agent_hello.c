#include "agent_hello.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define BOOT_ID_PATH "/proc/sys/kernel/random/boot_id"

static void read_boot_id(char boot_id[64])
{
	int fd = open(BOOT_ID_PATH, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? 0 : read(fd, boot_id, 63);

	if (fd >= 0)
		close(fd);
	boot_id[size > 0 ? size : 0] = '\0';
	boot_id[strcspn(boot_id, "\n")] = '\0';
}

static struct message_text text_of(const char *text)
{
	return (struct message_text){.data = text, .size = (uint32_t)strlen(text)};
}

int agent_hello_init(struct agent_hello *hello, const char *node_name)
{
	const char *node = node_name ? node_name : getenv("SLURMD_NODENAME");

	*hello = (struct agent_hello){.host = ""};
	gethostname(hello->host, sizeof(hello->host) - 1);
	read_boot_id(hello->boot_id);
	hello->hello = (struct message_hello){
		.version_min = WIRE_VERSION,
		.version_max = WIRE_VERSION,
		.software = text_of("flamegrid " FLAMEGRID_VERSION),
		.node = text_of(node && *node ? node : hello->host),
		.boot_id = text_of(hello->boot_id),
	};
	return getrandom(hello->hello.epoch, WIRE_EPOCH_SIZE, 0) == WIRE_EPOCH_SIZE ? 0 : -EIO;
}
