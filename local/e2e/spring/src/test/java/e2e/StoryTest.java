package e2e;

import java.util.List;
import org.junit.jupiter.api.Test;

/** The story on the registry at EUREKA_URL, quickly and whole, and with no setting touched. */
class StoryTest {

    static final List<String> SHORT_INTERVALS = List.of(
            "--eureka.client.registry-fetch-interval-seconds=1",
            "--eureka.client.initial-instance-info-replication-interval-seconds=1",
            "--eureka.client.instance-info-replication-interval-seconds=1",
            "--eureka.instance.lease-renewal-interval-in-seconds=1");

    @Test
    void shortIntervals() throws Exception {
        new Story("spring-short", SHORT_INTERVALS, 20).run(List.of(
                Story::renews, Story::changesMetadata, Story::changesStatus, Story::isOverridden, Story::registersAgain));
    }

    /** The short version: a change takes 30 seconds to be fetched. */
    @Test
    void defaultSettings() throws Exception {
        new Story("spring-default", List.of(), 70).run(List.of(Story::isOverridden));
    }
}
