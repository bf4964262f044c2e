#include "page_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"

#define MAGIC        "fgpages\n"
#define VERSION      1u
#define BUFFER_BYTES (1u << 20)

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file is little-endian");

struct file_head {
	char magic[8];
	uint32_t version;
	uint32_t nr_writers;
};

struct file_writer {
	uint8_t writer[WIRE_EPOCH_SIZE];
	uint64_t round;
	uint32_t ended;
	uint32_t nr_pages;
};

struct file_page { /* the page's bytes follow */
	uint32_t table, number, size;
};

static_assert(sizeof(struct file_head) == 16 && sizeof(struct file_writer) == 32 &&
		      sizeof(struct file_page) == 12,
	      "format of the file");

/* ---- writing */

struct file_output {
	FILE *file;
	uint64_t checksum;
	int error; /* the first */
};

static void put(struct file_output *output, const void *data, size_t size)
{
	if (output->error)
		return;
	output->checksum = checksum_add(output->checksum, data, size);
	if (fwrite(data, 1, size, output->file) != size)
		output->error = -errno;
}

static void put_writer(struct file_output *output, const struct page_snapshot_writer *writer)
{
	struct file_writer head = {
		.round = writer->round, .ended = writer->ended, .nr_pages = writer->list->count};

	memcpy(head.writer, writer->writer, sizeof(head.writer));
	put(output, &head, sizeof(head));
	for (uint32_t i = 0; i < writer->list->count; i++) {
		const struct profile_page *page = &writer->list->pages[i];
		const struct file_page place = {page->table, page->number, page->size};

		put(output, &place, sizeof(place));
		put(output, page->bytes, page->size);
	}
}

static int write_to(FILE *file, const struct page_snapshot *snapshot)
{
	struct file_output output = {.file = file};
	const struct file_head head = {MAGIC, VERSION, snapshot->count};

	put(&output, &head, sizeof(head));
	for (uint32_t i = 0; i < snapshot->count && !output.error; i++)
		put_writer(&output, &snapshot->writers[i]);
	const uint64_t checksum = output.checksum;
	put(&output, &checksum, sizeof(checksum));
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
	uint64_t left; /* bytes before the checksum */
	uint64_t checksum;
};

/* The file may be damaged, so nobody allocates what it claims before the bytes are known to be there. */
static int get(struct file_input *input, void *data, size_t size)
{
	if (size > input->left)
		return -EPROTO;
	if (fread(data, 1, size, input->file) != size)
		return ferror(input->file) ? -EIO : -EPROTO;
	input->left -= size;
	input->checksum = checksum_add(input->checksum, data, size);
	return 0;
}

static int get_page(struct file_input *input, struct page_list *list)
{
	const struct profile_page *last = list->count ? &list->pages[list->count - 1] : NULL;
	struct file_page place;
	int error = get(input, &place, sizeof(place));

	if (error)
		return error;
	if (place.size == 0 || place.size > WIRE_PAGE_BYTES_MAX || place.size > input->left ||
	    (last && !page_list_precedes(last, place.table, place.number)))
		return -EPROTO;
	/* Numbers have no gaps. */
	if (place.number != (last && last->table == place.table ? last->number + 1 : 0))
		return -EPROTO;
	uint8_t *bytes = malloc(place.size);
	if (!bytes)
		return -ENOMEM;
	error = get(input, bytes, place.size);
	if (error)
		free(bytes);
	else
		page_list_add(list,
			      &(struct profile_page){place.table, place.number, place.size, bytes});
	return error;
}

static int get_writer(struct file_input *input, struct page_snapshot *snapshot)
{
	struct page_snapshot_writer *writer = &snapshot->writers[snapshot->count];
	struct file_writer head;
	int error = get(input, &head, sizeof(head));

	if (error)
		return error;
	if (head.round == 0 || head.ended > 1 ||
	    head.nr_pages > input->left / sizeof(struct file_page))
		return -EPROTO;
	writer->list = page_list_create(head.nr_pages);
	if (!writer->list)
		return -ENOMEM;
	snapshot->count++;
	memcpy(writer->writer, head.writer, sizeof(writer->writer));
	writer->round = head.round;
	writer->ended = head.ended;
	for (uint32_t i = 0; i < head.nr_pages && !error; i++)
		error = get_page(input, writer->list);
	return error;
}

static int read_all(struct file_input *input, struct page_snapshot **snapshot)
{
	struct file_head head;
	uint64_t checksum;
	int error = get(input, &head, sizeof(head));

	if (error)
		return error;
	if (memcmp(head.magic, MAGIC, sizeof(head.magic)) != 0 || head.version != VERSION ||
	    head.nr_writers > input->left / sizeof(struct file_writer))
		return -EPROTO;
	*snapshot = calloc(1, sizeof(**snapshot) + head.nr_writers * sizeof(*(*snapshot)->writers));
	if (!*snapshot)
		return -ENOMEM;
	for (uint32_t i = 0; i < head.nr_writers && !error; i++)
		error = get_writer(input, *snapshot);
	if (error)
		return error;
	if (input->left || fread(&checksum, 1, sizeof(checksum), input->file) != sizeof(checksum))
		return ferror(input->file) ? -EIO : -EPROTO;
	return checksum == input->checksum ? 0 : -EPROTO;
}

static int open_file(const char *path, struct file_input *input)
{
	int fd = open(path,
		      O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* of a pipe, which is then refused */
	struct stat status;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) || !S_ISREG(status.st_mode) ||
	    (uint64_t)status.st_size < sizeof(input->checksum)) {
		close(fd);
		return -EPROTO;
	}
	input->file = fdopen(fd, "r");
	if (!input->file) {
		close(fd);
		return -ENOMEM;
	}
	setvbuf(input->file, NULL, _IOFBF, BUFFER_BYTES);
	input->left = (uint64_t)status.st_size - sizeof(input->checksum);
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
