// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/progress.h"
#include "sim/os.h"
#include "tools/output.h"
#include <inttypes.h>
#include <string.h>

static const double first_after_s = 0.5, interval_s = 0.2;

progress progress_make(bool wanted)
{
    return (progress){ .out = wanted && os_is_terminal(stderr) ? stderr : NULL };
}

static const char *speed(char *buffer, size_t size, double steps_per_s)
{
    if (steps_per_s < 0.01) { // better turned round
        output_duration(buffer, size, 1.0 / steps_per_s);
        snprintf(buffer + strlen(buffer), size - strlen(buffer), " per step");
    } else {
        snprintf(buffer, size, steps_per_s < 99.95 ? "%.3g steps/s" : "%.0f steps/s", steps_per_s);
    }
    return buffer;
}

char *progress_format(char *buffer, size_t size, const run_progress *now)
{
    char left[64], rate[64];
    const double share = now->steps ? (double)now->steps_done / now->steps : 0.0;
    if (now->steps_done == 0 || !(now->wall_s > 0.0)) {
        snprintf(buffer, size, "step 1 of %u  %.1f million events", now->steps, (double)now->events * 1e-6);
        return buffer;
    }
    const double steps_per_s = now->steps_done / now->wall_s;
    output_duration(left, sizeof(left), (now->steps - now->steps_done) / steps_per_s);
    snprintf(buffer, size, "step %u of %u  %.0f %%  %s  %s left", now->steps_done, now->steps, 100.0 * share,
             speed(rate, sizeof(rate), steps_per_s), left);
    return buffer;
}

char *progress_format_flows(char *buffer, size_t size, const traffic_progress *now)
{
    char left[64];
    if (now->finished == 0 || !(now->wall_s > 0.0)) {
        snprintf(buffer, size, "0 of %" PRIu64 " flows  %.1f million events", now->flows,
                 (double)now->events * 1e-6);
        return buffer;
    }
    const double flows_per_s = (double)now->finished / now->wall_s;
    output_duration(left, sizeof(left), (double)(now->flows - now->finished) / flows_per_s);
    snprintf(buffer, size, "%" PRIu64 " of %" PRIu64 " flows  %.0f %%  %.3g flows/s  %s left", now->finished,
             now->flows, 100.0 * (double)now->finished / (double)now->flows, flows_per_s, left);
    return buffer;
}

char *progress_format_cases(char *buffer, size_t size, uint32_t done, uint32_t count, double wall_s)
{
    char left[64];
    if (done == 0 || !(wall_s > 0.0)) {
        snprintf(buffer, size, "0 of %u cases", count);
        return buffer;
    }
    const double cases_per_s = done / wall_s;
    output_duration(left, sizeof(left), (count - done) / cases_per_s);
    snprintf(buffer, size, "%u of %u cases  %.0f %%  %.3g cases/s  %s left", done, count,
             100.0 * done / count, cases_per_s, left);
    return buffer;
}

// Rewrites the line where it stands; spaces cover what the one before left over.
static void write_line(progress *p, const char *line)
{
    const uint32_t columns = os_terminal_columns(p->out);
    const uint32_t room = columns > 1 ? columns - 1 : 79; // a full line would make the terminal scroll
    const uint32_t length = (uint32_t)strlen(line);
    const uint32_t width = length < room ? length : room;
    const uint32_t rest = p->width > width ? p->width - width : 0;
    fprintf(p->out, "\r%.*s%*s\r", (int)width, line, (int)rest, "");
    fflush(p->out);
    p->width = width;
}

// Is it time for a line?
static bool is_due(progress *p, double wall_s)
{
    if (!p->out || wall_s <= first_after_s || wall_s - p->shown_s <= interval_s) return false;
    p->shown_s = wall_s;
    return true;
}

bool progress_show(void *owner, const run_progress *now)
{
    char line[160];
    if (is_due(owner, now->wall_s)) write_line(owner, progress_format(line, sizeof(line), now));
    return !os_interrupted();
}

bool progress_show_flows(void *owner, const traffic_progress *now)
{
    char line[160];
    if (is_due(owner, now->wall_s)) write_line(owner, progress_format_flows(line, sizeof(line), now));
    return !os_interrupted();
}

bool progress_show_cases(void *owner, uint32_t done, uint32_t count)
{
    char line[160];
    progress *p = owner;
    const double wall_s = os_wall_s() - p->started_s;
    if (is_due(p, wall_s)) write_line(p, progress_format_cases(line, sizeof(line), done, count, wall_s));
    return !os_interrupted();
}

void progress_clear(progress *p)
{
    if (p->out && p->width) write_line(p, "");
}
