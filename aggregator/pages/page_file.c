#include "page_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"

#define MAGIC        "fgpages\n"
#define MAGIC_WRITER "fgwriter"
#define VERSION      2u
#define BUFFER_BYTES (1u << 20)
#define WINDOW_BYTES 4096u /* in which a head is looked for */

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file is little-endian");

/* Each part has a checksum of its own, so that damage to one leaves the others. */
struct file_head {
	char magic[8];
	uint32_t version;
	uint32_t nr_writers;
	uint32_t nr_lost; /* writers of which an earlier reader found no head */
	uint32_t zero;
	uint64_t checksum; /* of what is before it */
};

struct file_writer {
	char magic[8];
	uint8_t writer[WIRE_EPOCH_SIZE];
	uint64_t round;
	uint64_t bytes; /* of all its pages, with their heads: they follow */
	uint32_t ended;
	uint32_t nr_pages;
	uint32_t nr_lost; /* further pages, which an earlier reader found damaged */
	uint32_t zero;
	uint64_t checksum; /* of what is before it */
};

struct file_page { /* the page's bytes follow */
	uint32_t table, number, size, zero;
	uint64_t checksum; /* of what is before it, and of the bytes */
};

static_assert(sizeof(struct file_head) == 32 && sizeof(struct file_writer) == 64 &&
		      sizeof(struct file_page) == 24,
	      "format of the file");

#define CHECKSUM_OF(head) checksum_add(0, head, offsetof(__typeof__(*(head)), checksum))

/* ---- writing */

struct file_output {
	FILE *file;
	int error; /* the first */
};

static void put(struct file_output *output, const void *data, size_t size)
{
	if (!output->error && fwrite(data, 1, size, output->file) != size)
		output->error = -errno;
}

static void put_page(struct file_output *output, const struct profile_page *page)
{
	struct file_page head = {.table = page->table, .number = page->number, .size = page->size};

	head.checksum = checksum_add(CHECKSUM_OF(&head), page->bytes, page->size);
	put(output, &head, sizeof(head));
	put(output, page->bytes, page->size);
}

static void put_writer(struct file_output *output, const struct page_snapshot_writer *writer)
{
	struct file_writer head = {
		.magic = MAGIC_WRITER,
		.round = writer->round,
		.bytes = writer->list->bytes + writer->list->count * sizeof(struct file_page),
		.ended = writer->ended,
		.nr_pages = writer->list->count,
		.nr_lost = writer->nr_lost,
	};

	memcpy(head.writer, writer->writer, sizeof(head.writer));
	head.checksum = CHECKSUM_OF(&head);
	put(output, &head, sizeof(head));
	for (uint32_t i = 0; i < writer->list->count; i++)
		put_page(output, &writer->list->pages[i]);
}

static int write_to(FILE *file, const struct page_snapshot *snapshot)
{
	struct file_output output = {.file = file};
	struct file_head head = {
		.magic = MAGIC,
		.version = VERSION,
		.nr_writers = snapshot->count,
		.nr_lost = snapshot->nr_lost,
	};

	head.checksum = CHECKSUM_OF(&head);
	put(&output, &head, sizeof(head));
	for (uint32_t i = 0; i < snapshot->count && !output.error; i++)
		put_writer(&output, &snapshot->writers[i]);
	if (!output.error && (fflush(file) || fsync(fileno(file))))
		output.error = -errno;
	return output.error;
}

/* Makes the new name last. A file system that cannot sync a directory does without. */
static void sync_directory(const char *path)
{
	char copy[PATH_MAX];

	snprintf(copy, sizeof(copy), "%s", path);
	int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

int page_file_write(const struct page_snapshot *snapshot, const char *path)
{
	char new[PATH_MAX];
	int error = 0;

	if (snprintf(new, sizeof(new), "%s.tmp", path) >= (int)sizeof(new))
		return -ENAMETOOLONG;
	unlink(new); /* of a killed process */
	int fd = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!file) {
		error = -errno;
		if (fd >= 0)
			close(fd);
		return error;
	}
	setvbuf(file, NULL, _IOFBF, BUFFER_BYTES);
	error = write_to(file, snapshot);
	if (fclose(file) && !error)
		error = -errno;
	if (!error && rename(new, path))
		error = -errno;
	if (error)
		unlink(new);
	else
		sync_directory(path);
	return error;
}

/* ---- reading */

struct file_input {
	FILE *file;
	uint64_t left; /* bytes of the file, or of the writer that is read */
};

/* The file may be damaged, so nobody allocates what it claims before the bytes are known to be there. 0; -EPROTO: there
 * are fewer; -EIO. */
static int get(struct file_input *input, void *data, size_t size)
{
	if (size > input->left)
		return -EPROTO;
	if (fread(data, 1, size, input->file) != size)
		return ferror(input->file) ? -EIO : -EPROTO;
	input->left -= size;
	return 0;
}

static int skip(struct file_input *input, uint64_t size)
{
	if (fseeko(input->file, (off_t)size, SEEK_CUR))
		return -errno;
	input->left -= size;
	return 0;
}

/* 0; -EBADMSG: the page is damaged, but the next one may follow; -EPROTO: nobody knows where the next one is. */
static int get_page(struct file_input *input, struct page_list *list)
{
	const struct profile_page *last = list->count ? &list->pages[list->count - 1] : NULL;
	struct file_page head;
	int error = get(input, &head, sizeof(head));

	if (error)
		return error;
	if (head.size == 0 || head.size > WIRE_PAGE_BYTES_MAX || head.size > input->left)
		return -EPROTO;
	uint8_t *bytes = malloc(head.size);
	if (!bytes)
		return -ENOMEM;
	error = get(input, bytes, head.size);
	if (!error && (checksum_add(CHECKSUM_OF(&head), bytes, head.size) != head.checksum ||
		       (last && !page_list_precedes(last, head.table, head.number))))
		error = -EBADMSG;
	if (error)
		free(bytes);
	else
		page_list_add(list,
			      &(struct profile_page){head.table, head.number, head.size, bytes});
	return error;
}

/* Reads the sound ones of a writer's pages, and counts the others. */
static int get_pages(struct file_input *input, uint32_t nr_pages,
		     struct page_snapshot_writer *writer)
{
	int error = 0;

	for (uint32_t i = 0; i < nr_pages && !error; i++) {
		error = get_page(input, writer->list);
		if (error == -EBADMSG)
			error = 0;
	}
	writer->nr_lost += nr_pages - writer->list->count;
	return error == -EPROTO ? 0 : error;
}

static bool is_writer(const struct file_writer *head, uint64_t left)
{
	return memcmp(head->magic, MAGIC_WRITER, sizeof(head->magic)) == 0 &&
	       CHECKSUM_OF(head) == head->checksum && head->round != 0 && head->ended <= 1 &&
	       head->bytes <= left && head->nr_pages <= head->bytes / sizeof(struct file_page) &&
	       head->nr_lost <= UINT32_MAX - head->nr_pages;
}

/* Finds a head in the bytes, behind which left further ones follow. Returns where; NULL: there is none, and *head is
 * undefined. */
static const uint8_t *find_head(const uint8_t *bytes, size_t size, uint64_t left,
				struct file_writer *head)
{
	const uint8_t *end = bytes + size;

	while ((bytes = memmem(bytes, (size_t)(end - bytes), MAGIC_WRITER, sizeof(head->magic))) &&
	       (size_t)(end - bytes) >= sizeof(*head)) {
		memcpy(head, bytes, sizeof(*head));
		bytes++;
		if (is_writer(head, left + (size_t)(end - bytes) + 1 - sizeof(*head)))
			return bytes - 1;
	}
	return NULL;
}

/* Looks for a head from the second byte of *head on, which is none. -EPROTO: there is none. */
static int search_writer(struct file_input *input, struct file_writer *head)
{
	const size_t kept = sizeof(*head) - 1; /* of the window before: a head may begin there */
	uint8_t window[WINDOW_BYTES];
	const uint8_t *found = NULL;
	size_t size = 0;

	memcpy(window, (uint8_t *)head + 1, kept);
	while (!found && input->left > 0) {
		size = input->left < sizeof(window) - kept ? (size_t)input->left
							   : sizeof(window) - kept;
		int error = get(input, window + kept, size);

		if (error)
			return error;
		size += kept;
		found = find_head(window, size, input->left, head);
		if (!found)
			memmove(window, window + size - kept, kept);
	}
	if (!found)
		return -EPROTO;
	const size_t behind = (size_t)(window + size - found) - sizeof(*head);
	if (fseeko(input->file, -(off_t)behind, SEEK_CUR))
		return -errno;
	input->left += behind;
	return 0;
}

/* Reads the head of the next writer. Where there is none, it is looked for behind that. -EPROTO: no further one. */
static int find_writer(struct file_input *input, struct file_writer *head)
{
	int error = get(input, head, sizeof(*head));

	return error || is_writer(head, input->left) ? error : search_writer(input, head);
}

static int get_writer(struct file_input *input, struct page_snapshot *snapshot)
{
	struct page_snapshot_writer *writer = &snapshot->writers[snapshot->count];
	struct file_writer head;
	int error = find_writer(input, &head);

	if (error)
		return error;
	writer->list = page_list_create(head.nr_pages);
	if (!writer->list)
		return -ENOMEM;
	snapshot->count++;
	memcpy(writer->writer, head.writer, sizeof(writer->writer));
	writer->round = head.round;
	writer->ended = head.ended;
	writer->nr_lost = head.nr_lost;
	struct file_input pages = {.file = input->file, .left = head.bytes};
	error = get_pages(&pages, head.nr_pages, writer);
	input->left -= head.bytes - pages.left;
	return error ? error : skip(input, pages.left);
}

static int read_all(struct file_input *input, struct page_snapshot **snapshot)
{
	struct file_head head;
	int error = get(input, &head, sizeof(head));

	if (error)
		return error;
	if (memcmp(head.magic, MAGIC, sizeof(head.magic)) != 0 || head.version != VERSION ||
	    CHECKSUM_OF(&head) != head.checksum)
		return -EPROTO;
	/* of a file that was cut off, the writers that are not there are lost */
	const uint64_t room = input->left / sizeof(struct file_writer);
	const uint32_t most = head.nr_writers < room ? head.nr_writers : (uint32_t)room;
	*snapshot = calloc(1, sizeof(**snapshot) + most * sizeof(*(*snapshot)->writers));
	if (!*snapshot)
		return -ENOMEM;
	for (uint32_t i = 0; i < most && !error; i++)
		error = get_writer(input, *snapshot);
	if (__builtin_add_overflow(head.nr_writers - (*snapshot)->count, head.nr_lost,
				   &(*snapshot)->nr_lost))
		(*snapshot)->nr_lost = UINT32_MAX;
	return error == -EPROTO ? 0 : error;
}

static int open_file(const char *path, struct file_input *input)
{
	int fd = open(path,
		      O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* of a pipe, which is then refused */
	struct stat status;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) || !S_ISREG(status.st_mode)) {
		close(fd);
		return -EPROTO;
	}
	input->file = fdopen(fd, "r");
	if (!input->file) {
		close(fd);
		return -ENOMEM;
	}
	setvbuf(input->file, NULL, _IOFBF, BUFFER_BYTES);
	input->left = (uint64_t)status.st_size;
	return 0;
}

int page_file_read(const char *path, struct page_snapshot **snapshot)
{
	struct file_input input = {0};
	int error;

	*snapshot = NULL;
	error = open_file(path, &input);
	if (error)
		return error;
	error = read_all(&input, snapshot);
	fclose(input.file);
	if (error) {
		page_file_free(*snapshot);
		*snapshot = NULL;
	}
	return error;
}

void page_file_free(struct page_snapshot *snapshot)
{
	if (!snapshot)
		return;
	for (uint32_t i = 0; i < snapshot->count; i++)
		page_list_destroy(snapshot->writers[i].list);
	free(snapshot);
}
