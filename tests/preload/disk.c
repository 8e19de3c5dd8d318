/*
 * Stands between a program and its disk. Loaded with LD_PRELOAD by the tests (see library.rs), it
 * sees every call on the files below one folder that changes them, syncs them or opens them, and can
 *
 *   count and name each call            HOLDPOINT_DISK_TRACE=file   one line a call
 *   kill the process at one of them     HOLDPOINT_DISK_KILL=before:N | after:N
 *   let one of them fail                HOLDPOINT_DISK_FAIL=N:ERRNO:once|ever|torn
 *   swallow one kind of call            HOLDPOINT_DISK_LIE=fdatasync  (answers 0, does nothing)
 *   record all of them with their bytes HOLDPOINT_DISK_RECORD=file  (see recording.rs for the format)
 *
 * HOLDPOINT_DISK_FOLDER is the folder, without links in its path. HOLDPOINT_DISK_KINDS says what is
 * counted: w writes, s syncs, n names (rename, unlink, mkdir), o opens, r reads; all but r if unset.
 * A read counts where it goes to the device: not where this process has read or written all of these
 * pages before, which are in the cache then.
 * HOLDPOINT_DISK_FROM=text starts counting at the first mark that begins with the text.
 *
 * A mark is what the program says to somebody outside: each write to standard error, and with
 * HOLDPOINT_DISK_SOCKETS set each write to a socket. Marks stand in the trace and in the recording at
 * the moment before they leave, so that a test knows what had been said before a call.
 *
 * How failures are told: `once` fails the call N alone. A sync that fails is told once to every other
 * open descriptor of the file as well, as Linux does since 4.13 (one of them is told, and the data is
 * gone from the cache). `ever` fails N and every later call of the kinds counted. `torn` writes the
 * first half of call N and then fails.
 *
 * The calls go to the kernel by number, so nothing here depends on the library that it replaces.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define DESCRIPTORS_MAX 4096
/* Our own files get high numbers, so that the program's are the same with and without us. */
#define OWN_DESCRIPTOR 900

enum act { NOTHING, KILL_BEFORE, KILL_AFTER, FAIL_ONCE, FAIL_EVER, FAIL_TORN };

static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;
static char folder[PATH_MAX];
static size_t folder_length;
static const char *kinds = "wsno";
static const char *lie = "";
static const char *from;
static int trace = -1, record = -1, sockets, started = 1;
static enum act act = NOTHING;
static uint64_t at, count, syncs;
static int error_number;
/* Descriptors that have yet to be told of a failed sync. */
static unsigned char to_be_told[DESCRIPTORS_MAX];

static void die(const char *why) {
    syscall(SYS_write, 2, why, strlen(why));
    _exit(120);
}

static int own_file(const char *path) {
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, OWN_DESCRIPTOR);
    if (high < 0) die("disk.c: cannot open the trace or the recording\n");
    syscall(SYS_close, fd);
    return high;
}

__attribute__((constructor)) static void start(void) {
    const char *value = getenv("HOLDPOINT_DISK_FOLDER");
    if (!value || sizeof folder <= strlen(value)) return;
    strcpy(folder, value);
    folder_length = strlen(folder);
    if ((value = getenv("HOLDPOINT_DISK_TRACE"))) trace = own_file(value);
    if ((value = getenv("HOLDPOINT_DISK_RECORD"))) record = own_file(value);
    if ((value = getenv("HOLDPOINT_DISK_KINDS"))) kinds = value;
    if ((value = getenv("HOLDPOINT_DISK_LIE"))) lie = value;
    if ((from = getenv("HOLDPOINT_DISK_FROM"))) started = 0;
    sockets = getenv("HOLDPOINT_DISK_SOCKETS") != NULL;
    if ((value = getenv("HOLDPOINT_DISK_KILL"))) {
        if (sscanf(value, "before:%lu", &at) == 1) act = KILL_BEFORE;
        else if (sscanf(value, "after:%lu", &at) == 1) act = KILL_AFTER;
        else die("disk.c: HOLDPOINT_DISK_KILL is before:N or after:N\n");
    }
    if ((value = getenv("HOLDPOINT_DISK_FAIL"))) {
        char how[8] = "";
        if (sscanf(value, "%lu:%d:%4s", &at, &error_number, how) != 3)
            die("disk.c: HOLDPOINT_DISK_FAIL is N:ERRNO:once|ever|torn\n");
        act = !strcmp(how, "ever") ? FAIL_EVER : !strcmp(how, "torn") ? FAIL_TORN : FAIL_ONCE;
    }
}

/* --- which file is meant ------------------------------------------------------------------------ */

static int inside(const char *path) {
    return folder_length && !strncmp(path, folder, folder_length) &&
           (path[folder_length] == '/' || path[folder_length] == 0);
}

/* The path of an open file; 1 if it is one of ours. */
static int path_of(int fd, char *path) {
    char link[40];
    if (!folder_length) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
    return 0 < length && inside(path);
}

/* The path that a call names; 1 if it is one of ours. */
static int path_at(int directory, const char *name, char *path) {
    if (!folder_length) return 0;
    if (name[0] == '/') {
        snprintf(path, PATH_MAX, "%s", name);
    } else {
        char base[PATH_MAX];
        if (directory == AT_FDCWD) {
            if (!getcwd(base, sizeof base)) return 0;
        } else {
            path_of(directory, base);
        }
        if (PATH_MAX <= snprintf(path, PATH_MAX, "%.2000s/%.2000s", base, name)) return 0;
    }
    return inside(path);
}

static const char *shown(const char *path) {
    return path[folder_length] ? path + folder_length + 1 : ".";
}

static uint64_t number_of(int fd) {
    struct stat found;
    return fstat(fd, &found) ? 0 : found.st_ino;
}

/* --- which pages are in the cache ----------------------------------------------------------------- */

#define PAGE 4096
#define PAGES_MAX 65536
#define FILES_MAX 64
static struct { uint64_t number; unsigned char *pages; } files[FILES_MAX];

static unsigned char *pages_of(uint64_t number) {
    for (int file = 0; file < FILES_MAX; file++) {
        if (!files[file].pages) {
            files[file].number = number;
            files[file].pages = calloc(PAGES_MAX, 1);
        }
        if (files[file].number == number) return files[file].pages;
    }
    return NULL;
}

static int cached(uint64_t number, off_t from, off_t until) {
    unsigned char *pages = pages_of(number);
    for (off_t page = from / PAGE; page * PAGE < until; page++)
        if (!pages || PAGES_MAX <= page || !pages[page]) return 0;
    return 1;
}

static void cache(uint64_t number, off_t from, off_t until) {
    unsigned char *pages = pages_of(number);
    for (off_t page = from / PAGE; pages && page * PAGE < until && page < PAGES_MAX; page++) pages[page] = 1;
}

/* --- the trace and the recording ----------------------------------------------------------------- */

static void put(int fd, const void *bytes, size_t length) {
    const char *rest = bytes;
    while (length) {
        long written = syscall(SYS_write, fd, rest, length);
        if (written <= 0) die("disk.c: cannot write the trace or the recording\n");
        rest += written;
        length -= (size_t)written;
    }
}

/* One entry: kind, file number, offset, length of the path, length of the data, path, data. */
static void note(char kind, uint64_t file, uint64_t offset, const char *path, const void *data, size_t length) {
    if (record < 0) return;
    char head[25];
    uint32_t path_length = (uint32_t)strlen(path), data_length = (uint32_t)length;
    head[0] = kind;
    memcpy(head + 1, &file, 8);
    memcpy(head + 9, &offset, 8);
    memcpy(head + 17, &path_length, 4);
    memcpy(head + 21, &data_length, 4);
    put(record, head, sizeof head);
    put(record, path, path_length);
    put(record, data, length);
}

static void mark(const void *data, size_t length) {
    pthread_mutex_lock(&door);
    if (!started && strlen(from) <= length && !memcmp(data, from, strlen(from))) started = 1;
    if (0 <= trace) {
        put(trace, "mark ", 5);
        put(trace, data, length);
        if (!length || ((const char *)data)[length - 1] != '\n') put(trace, "\n", 1);
    }
    note('M', 0, 0, "", data, length);
    pthread_mutex_unlock(&door);
}

/* A folder may ask for its names to be on the device at once (chattr +D). */
static void note_names(const char *path) {
    char parent[PATH_MAX];
    int flags = 0;
    snprintf(parent, sizeof parent, "%s", path);
    char *slash = strrchr(parent, '/');
    if (record < 0 || !slash) return;
    *slash = 0;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, parent, O_RDONLY | O_CLOEXEC, 0);
    if (0 <= fd && !ioctl(fd, FS_IOC_GETFLAGS, &flags) && (flags & FS_DIRSYNC_FL)) {
        note('B', 0, ++syncs, parent, "", 0);
        note('E', 0, syncs, "", "", 0);
    }
    if (0 <= fd) syscall(SYS_close, fd);
}

/* --- one call ------------------------------------------------------------------------------------ */

static void kill_here(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

/* Counts a call (the door is held). 0: do it; -1: fail it, errno is set; 1: write half, then fail. */
static int begin(char kind, const char *call, const char *path, int fd) {
    int told = kind == 's' && 0 <= fd && fd < DESCRIPTORS_MAX && to_be_told[fd];
    int counts = started && strchr(kinds, kind) != NULL;
    if (counts) count++;
    int hit = counts && (count == at || (act == FAIL_EVER && at < count));
    int fails = told || (hit && FAIL_ONCE <= act && at);
    if (0 <= trace && (counts || told)) {
        char line[PATH_MAX + 64];
        int length = snprintf(line, sizeof line, "%lu %c %s %s%s\n", count, kind, call, shown(path), fails ? " FAILS" : "");
        put(trace, line, (size_t)length);
    }
    if (hit && act == KILL_BEFORE) kill_here();
    if (!fails) return 0;
    if (told) {
        to_be_told[fd] = 0;
    } else if (kind == 's' && 0 <= fd) {
        /* Everybody else who has the file open is told as well, once. */
        uint64_t file = number_of(fd);
        for (int other = 0; other < DESCRIPTORS_MAX; other++)
            if (other != fd && number_of(other) == file) to_be_told[other] = 1;
    }
    errno = error_number;
    return !told && act == FAIL_TORN && kind == 'w' ? 1 : -1;
}

/* Ends a call that was counted: whoever is to be killed after it is killed here. */
static void end(char kind) {
    if (act == KILL_AFTER && started && count == at && strchr(kinds, kind)) kill_here();
}

static long leave(long result, int number) {
    pthread_mutex_unlock(&door);
    errno = number;
    return result;
}

static int do_open(int directory, const char *name, int flags, mode_t mode) {
    char path[PATH_MAX];
    struct stat found;
    if (!path_at(directory, name, path)) return (int)syscall(SYS_openat, directory, name, flags, mode);
    pthread_mutex_lock(&door);
    int existed = !stat(path, &found);
    if (begin('o', flags & O_CREAT ? "open+create" : "open", path, -1)) return (int)leave(-1, errno);
    int fd = (int)syscall(SYS_openat, directory, name, flags, mode), number = errno;
    if (0 <= fd) {
        if (fd < DESCRIPTORS_MAX) to_be_told[fd] = 0;
        if (!existed && (flags & O_CREAT)) {
            note('C', number_of(fd), 0, path, "", 0);
            note_names(path);
        } else if (existed && (flags & O_TRUNC)) note('T', number_of(fd), 0, path, "", 0);
    }
    end('o');
    return (int)leave(fd, number);
}

#define MODE(flags, mode)                                                                              \
    mode_t mode = 0;                                                                                   \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                             \
        va_list rest;                                                                                  \
        va_start(rest, flags);                                                                         \
        mode = (mode_t)va_arg(rest, int);                                                              \
        va_end(rest);                                                                                  \
    }

int open(const char *name, int flags, ...) { MODE(flags, mode) return do_open(AT_FDCWD, name, flags, mode); }
int open64(const char *name, int flags, ...) { MODE(flags, mode) return do_open(AT_FDCWD, name, flags, mode); }
int openat(int at_, const char *name, int flags, ...) { MODE(flags, mode) return do_open(at_, name, flags, mode); }
int openat64(int at_, const char *name, int flags, ...) { MODE(flags, mode) return do_open(at_, name, flags, mode); }

/* `offset` is -1 for a write at the place where the file stands. */
static ssize_t do_write(const char *call, int fd, const void *data, size_t length, off_t offset) {
    char path[PATH_MAX];
    struct stat found;
    int placed = 0 <= offset;
    if (!path_of(fd, path)) {
        if (folder_length && !placed && (fd == 2 || (sockets && !fstat(fd, &found) && S_ISSOCK(found.st_mode))))
            mark(data, length);
        return placed ? syscall(SYS_pwrite64, fd, data, length, offset) : syscall(SYS_write, fd, data, length);
    }
    pthread_mutex_lock(&door);
    off_t where = offset;
    if (!placed) {
        where = lseek(fd, 0, SEEK_CUR);
        if ((fcntl(fd, F_GETFL) & O_APPEND) && !fstat(fd, &found)) where = found.st_size;
    }
    int answer = begin('w', call, path, fd);
    if (answer < 0) return leave(-1, errno);
    if (answer) length /= 2;
    ssize_t done = placed ? syscall(SYS_pwrite64, fd, data, length, offset) : syscall(SYS_write, fd, data, length);
    int number = errno;
    if (0 < done) {
        note('W', number_of(fd), (uint64_t)where, path, data, (size_t)done);
        cache(number_of(fd), where, where + done);
    }
    end('w');
    return answer ? leave(-1, error_number) : leave(done, number);
}

ssize_t write(int fd, const void *data, size_t length) { return do_write("write", fd, data, length, -1); }
ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) { return do_write("pwrite", fd, data, length, offset); }
ssize_t pwrite64(int fd, const void *data, size_t length, off_t offset) { return do_write("pwrite", fd, data, length, offset); }

/* Several pieces at once: for a file of ours the first alone, which is a short write. */
ssize_t writev(int fd, const struct iovec *pieces, int pieces_count) {
    char path[PATH_MAX], *whole;
    struct stat found;
    if (0 < pieces_count && path_of(fd, path)) return do_write("writev", fd, pieces[0].iov_base, pieces[0].iov_len, -1);
    if (folder_length && (fd == 2 || (sockets && !fstat(fd, &found) && S_ISSOCK(found.st_mode)))) {
        size_t length = 0, filled = 0;
        for (int piece = 0; piece < pieces_count; piece++) length += pieces[piece].iov_len;
        if (!(whole = malloc(length + 1))) die("disk.c: out of memory\n");
        for (int piece = 0; piece < pieces_count; piece++) {
            memcpy(whole + filled, pieces[piece].iov_base, pieces[piece].iov_len);
            filled += pieces[piece].iov_len;
        }
        mark(whole, length);
        free(whole);
    }
    return syscall(SYS_writev, fd, pieces, pieces_count);
}

ssize_t send(int fd, const void *data, size_t length, int flags) {
    if (sockets && folder_length) mark(data, length);
    return syscall(SYS_sendto, fd, data, length, flags, NULL, 0);
}

static ssize_t do_read(int fd, void *data, size_t length, off_t offset) {
    char path[PATH_MAX];
    struct stat found;
    int placed = 0 <= offset;
    if (!strchr(kinds, 'r') || !path_of(fd, path) || fstat(fd, &found))
        return placed ? syscall(SYS_pread64, fd, data, length, offset) : syscall(SYS_read, fd, data, length);
    pthread_mutex_lock(&door);
    off_t where = placed ? offset : lseek(fd, 0, SEEK_CUR);
    off_t until = where + (off_t)length < found.st_size ? where + (off_t)length : found.st_size;
    if (!cached(found.st_ino, where, until)) {
        if (begin('r', placed ? "pread" : "read", path, fd)) return leave(-1, errno);
        end('r');
    }
    ssize_t done = placed ? syscall(SYS_pread64, fd, data, length, offset) : syscall(SYS_read, fd, data, length);
    int number = errno;
    if (0 < done) cache(found.st_ino, where, where + done);
    return leave(done, number);
}

ssize_t read(int fd, void *data, size_t length) { return do_read(fd, data, length, -1); }
ssize_t pread(int fd, void *data, size_t length, off_t offset) { return do_read(fd, data, length, offset); }
ssize_t pread64(int fd, void *data, size_t length, off_t offset) { return do_read(fd, data, length, offset); }

static int do_truncate(int fd, off_t length) {
    char path[PATH_MAX];
    if (!path_of(fd, path)) return (int)syscall(SYS_ftruncate, fd, length);
    pthread_mutex_lock(&door);
    if (begin('w', "ftruncate", path, fd)) return (int)leave(-1, errno);
    int done = (int)syscall(SYS_ftruncate, fd, length), number = errno;
    if (!done) note('T', number_of(fd), (uint64_t)length, path, "", 0);
    end('w');
    return (int)leave(done, number);
}

int ftruncate(int fd, off_t length) { return do_truncate(fd, length); }
int ftruncate64(int fd, off_t length) { return do_truncate(fd, length); }

/* The door is open while the device works: others go on writing, and what they write meanwhile is not
 * covered by this sync. So the recording has its begin and its end. */
static int do_sync(const char *call, int number_of_call, int fd) {
    char path[PATH_MAX];
    if (!path_of(fd, path)) return (int)syscall(number_of_call, fd);
    pthread_mutex_lock(&door);
    int lies = !strcmp(lie, call);
    if (begin('s', lies ? "LIE" : call, path, fd)) return (int)leave(-1, errno);
    uint64_t mine = count, sync = ++syncs;
    if (!lies) note('B', number_of(fd), sync, path, "", 0);
    pthread_mutex_unlock(&door);
    int done = lies ? 0 : (int)syscall(number_of_call, fd), number = errno;
    pthread_mutex_lock(&door);
    if (!lies && !done) note('E', 0, sync, "", "", 0);
    if (act == KILL_AFTER && started && mine == at && strchr(kinds, 's')) kill_here();
    return (int)leave(done, number);
}

int fsync(int fd) { return do_sync("fsync", SYS_fsync, fd); }
int fdatasync(int fd) { return do_sync("fdatasync", SYS_fdatasync, fd); }

/* No barrier: neither the device's cache nor the length of the file is flushed by it. */
int sync_file_range(int fd, off64_t offset, off64_t length, unsigned flags) {
    char path[PATH_MAX];
    if (!path_of(fd, path)) return (int)syscall(SYS_sync_file_range, fd, offset, length, flags);
    pthread_mutex_lock(&door);
    int answer = begin('s', "sync_file_range", path, fd);
    if (answer) return (int)leave(-1, errno);
    end('s');
    pthread_mutex_unlock(&door);
    return (int)syscall(SYS_sync_file_range, fd, offset, length, flags);
}

int rename(const char *old, const char *new) {
    char old_path[PATH_MAX], path[PATH_MAX];
    if (!path_at(AT_FDCWD, old, old_path) | !path_at(AT_FDCWD, new, path))
        return (int)syscall(SYS_renameat2, AT_FDCWD, old, AT_FDCWD, new, 0);
    pthread_mutex_lock(&door);
    if (begin('n', "rename", path, -1)) return (int)leave(-1, errno);
    int done = (int)syscall(SYS_renameat2, AT_FDCWD, old, AT_FDCWD, new, 0), number = errno;
    if (!done) {
        note('R', 0, 0, path, old_path, strlen(old_path));
        note_names(path);
    }
    end('n');
    return (int)leave(done, number);
}

static int do_unlink(int directory, const char *name, int flags) {
    char path[PATH_MAX];
    if (!path_at(directory, name, path)) return (int)syscall(SYS_unlinkat, directory, name, flags);
    pthread_mutex_lock(&door);
    if (begin('n', "unlink", path, -1)) return (int)leave(-1, errno);
    int done = (int)syscall(SYS_unlinkat, directory, name, flags), number = errno;
    if (!done) {
        note('U', 0, 0, path, "", 0);
        note_names(path);
    }
    end('n');
    return (int)leave(done, number);
}

int unlink(const char *name) { return do_unlink(AT_FDCWD, name, 0); }
int unlinkat(int directory, const char *name, int flags) { return do_unlink(directory, name, flags); }

int mkdir(const char *name, mode_t mode) {
    char path[PATH_MAX];
    if (!path_at(AT_FDCWD, name, path)) return (int)syscall(SYS_mkdirat, AT_FDCWD, name, mode);
    pthread_mutex_lock(&door);
    if (begin('n', "mkdir", path, -1)) return (int)leave(-1, errno);
    int done = (int)syscall(SYS_mkdirat, AT_FDCWD, name, mode), number = errno;
    if (!done) {
        note('D', 0, 0, path, "", 0);
        note_names(path);
    }
    end('n');
    return (int)leave(done, number);
}
