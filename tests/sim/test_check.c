// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L
#include "tests/support/near.h"

#include "sim/check.h"
#include "tests/support/text.h"
#include <sys/wait.h>
#include <unistd.h>

static const char *const in_event = "  at time 123456789012 ticks, in event 42 (link sent)\n";
static const char *const no_bug_of_yours =
    "  this is a bug in windtunnel, not in your input; please report it with the scenario\n";

// Fails an assertion in a child; returns what it printed.
static const char *failure_text(const check_context *context, char *text, size_t size)
{
    FILE *stream = tmpfile();
    assert_non_null(stream);
    fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(fileno(stream), STDERR_FILENO);
        check_set_context(context);
        check_failed("a == b", "sim/x.c", 17, "x_do");
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 3);
    return text_read_back(stream, text, size);
}

static void failure_names_the_condition(void **state)
{
    (void)state;
    char got[4096], want[4096];
    snprintf(want, sizeof want, "%s%s",
             "windtunnel: internal error: sim/x.c:17: x_do: assertion failed: a == b\n", no_bug_of_yours);
    assert_string_equal(failure_text(NULL, got, sizeof got), want);
}

static void failure_names_the_event(void **state)
{
    (void)state;
    check_context context = { .now_ticks = 123456789012, .sequence = 42, .event_name = "link sent" };
    char got[4096], want[4096];
    snprintf(want, sizeof want, "%s%s%s",
             "windtunnel: internal error: sim/x.c:17: x_do: assertion failed: a == b\n", in_event,
             no_bug_of_yours);
    assert_string_equal(failure_text(&context, got, sizeof got), want);
}

static void true_conditions_pass_once(void **state)
{
    (void)state;
    int evaluated = 0;
    SIM_ASSERT(++evaluated == 1);
    assert_int_equal(evaluated, 1);
    SIM_VERIFY(++evaluated == 2);
    assert_int_equal(evaluated, 1 + SIM_CHECKS_ON); // costs nothing when the checks are off
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failure_names_the_condition),
        cmocka_unit_test(failure_names_the_event),
        cmocka_unit_test(true_conditions_pass_once),
    };
    return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
