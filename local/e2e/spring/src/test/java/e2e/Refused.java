package e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Set;
import org.junit.jupiter.api.Test;

/** A service at the registry at EUREKA_URL, whose password is wrong. Not among the tests that run by default. */
class Refused {

    @Test
    void saysSo() throws Exception {
        try (ServiceProcess service = new ServiceProcess("spring-refused", StoryTest.SHORT_INTERVALS)) {
            Http.eventually("a fetch that is refused", 20,
                    () -> service.hasLogged("was unable to refresh its cache"), Boolean.TRUE::equals);
            Http.eventually("the reason", 20, () -> service.hasLogged("status code 401"), Boolean.TRUE::equals);
            assertEquals(Set.of(), service.usable());
        }
    }
}
