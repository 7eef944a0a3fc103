package e2e;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;

/** A {@link Service} in a process of its own, stopped as an operator stops it. */
final class ServiceProcess implements AutoCloseable {

    /** What the client logs when it fetches the whole registry; the second when its deltas did not add up. */
    private static final List<String> FULL_FETCH = List.of(
            "Getting all instance registry info from the eureka server", "The Reconcile hashcodes do not match");

    final String id;
    private final Path log;
    private final Process process;
    private final String url;

    ServiceProcess(String name, List<String> settings) throws IOException {
        int port = freePort();
        url = "http://127.0.0.1:" + port;
        log = Path.of("target", name + "-" + port + ".log");
        process = new ProcessBuilder(command(name, port, settings))
                .redirectErrorStream(true).redirectOutput(log.toFile()).start();
        Runtime.getRuntime().addShutdownHook(new Thread(process::destroy));
        id = Http.eventually("the start of " + log, 60, () -> Http.get(url + "/id"), answer -> answer != null);
    }

    private static List<String> command(String name, int port, List<String> settings) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"),
                Service.class.getName(), "--spring.application.name=" + name, "--server.port=" + port,
                "--logging.level.com.netflix.discovery.DiscoveryClient=DEBUG"));
        command.addAll(settings);
        return command;
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    /** The ids of the instances that this one would call. */
    Set<String> usable() {
        Set<String> ids = new TreeSet<>();
        Http.json(url + "/usable").fieldNames().forEachRemaining(ids::add);
        return ids;
    }

    /** Another instance's metadata as this one sees it. */
    JsonNode metadata(ServiceProcess other) {
        return Http.json(url + "/usable").path(other.id);
    }

    /** Makes the instance say something else of itself. */
    void change(String what) {
        Http.send("PUT", url + what);
    }

    /** How often the whole registry was fetched so far. */
    long fullFetches() throws IOException {
        try (var lines = Files.lines(log)) {
            return lines.filter(line -> FULL_FETCH.stream().anyMatch(line::contains)).count();
        }
    }

    /** Whether the client has logged something that has this in it. */
    boolean hasLogged(String text) {
        try (var lines = Files.lines(log)) {
            return lines.anyMatch(line -> line.contains(text));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() throws InterruptedException {
        process.destroy();
        if (!process.waitFor(30, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            throw new AssertionError(log + ": did not stop by itself");
        }
    }
}
