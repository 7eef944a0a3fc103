package e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Two services: the first one watches what becomes of the second. Patience is in seconds. */
final class Story {

    private static final String REGISTRY = System.getenv("EUREKA_URL");

    private final String name;
    private final List<String> settings;
    private final int patience;
    private ServiceProcess first;
    private ServiceProcess second;

    /** Something that happens to the second service while both are up. */
    interface Chapter {
        void run(Story story);
    }

    Story(String name, List<String> settings, int patience) {
        assertNotNull(REGISTRY, "EUREKA_URL is the base URL of a registry");
        this.name = name;
        this.settings = settings;
        this.patience = patience;
    }

    /** Both find each other, the chapters happen, the second stops; the first learns all of it by deltas alone. */
    void run(List<Chapter> chapters) throws Exception {
        try (ServiceProcess watcher = new ServiceProcess(name, settings)) {
            first = watcher;
            sees(first, first);
            long fullFetches = first.fullFetches();
            try (ServiceProcess watched = new ServiceProcess(name, settings)) {
                second = watched;
                sees(first, first, second);
                sees(second, first, second);
                chapters.forEach(chapter -> chapter.run(this));
            }
            sees(first, first);
            assertEquals(fullFetches, first.fullFetches(), "full fetches while everything could come by deltas");
        }
    }

    void renews() {
        long before = lease("lastRenewalTimestamp");
        Http.eventually("a renewal", patience, () -> lease("lastRenewalTimestamp"), time -> time > before);
    }

    void changesMetadata() {
        second.change("/metadata?version=2");
        Http.eventually("new metadata", patience, () -> first.metadata(second).path("version").asText(), "2"::equals);
    }

    void changesStatus() {
        second.change("/status?value=DOWN");
        sees(first, first);
        second.change("/status?value=UP");
        sees(first, first, second);
    }

    /** An administrator takes it out of service; its heartbeats go on and do not bring it back. */
    void isOverridden() {
        Http.send("PUT", registered() + "/status?value=OUT_OF_SERVICE");
        sees(first, first);
        assertEquals("OUT_OF_SERVICE", Http.json(registered()).at("/instance/status").asText());
        Http.send("DELETE", registered() + "/status?value=UP");
        sees(first, first, second);
    }

    void registersAgain() {
        long before = lease("registrationTimestamp");
        Http.send("DELETE", registered());
        Http.eventually("a new registration", patience, () -> lease("registrationTimestamp"), time -> time > before);
        sees(first, first, second);
    }

    /** Waits until these are the instances that the observer would call. */
    private void sees(ServiceProcess observer, ServiceProcess... expected) {
        Set<String> ids = Stream.of(expected).map(service -> service.id).collect(Collectors.toSet());
        Http.eventually(observer.id + " to see " + ids, patience, observer::usable, ids::equals);
    }

    /** Where the registry has the second service. */
    private String registered() {
        return REGISTRY + "/apps/" + name.toUpperCase() + "/" + second.id;
    }

    private long lease(String field) {
        return Http.json(registered()).at("/instance/leaseInfo/" + field).asLong();
    }
}
