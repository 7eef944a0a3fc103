package e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.junit.jupiter.api.Assertions;

/** Plain requests, as somebody without a Eureka client sends them, and waiting for what they show. */
final class Http {

    private static final HttpClient CLIENT = HttpClient.newHttpClient();
    private static final ObjectMapper JSON = new ObjectMapper();

    private Http() {}

    /** The body of a 200; null when nobody listens or there is no such thing (404). */
    static String get(String url) {
        HttpResponse<String> answer = request("GET", url);
        if (answer == null || answer.statusCode() == 404) {
            return null;
        }
        assertEquals(200, answer.statusCode(), url);
        return answer.body();
    }

    static JsonNode json(String url) {
        String body = get(url);
        try {
            return JSON.readTree(body == null ? "null" : body);
        } catch (JsonProcessingException e) {
            throw new UncheckedIOException(e);
        }
    }

    static void send(String method, String url) {
        assertEquals(200, request(method, url).statusCode(), method + " " + url);
    }

    /** Asks until the answer is right. */
    static <T> T eventually(String what, int seconds, Supplier<T> ask, Predicate<T> right) {
        long late = System.nanoTime() + Duration.ofSeconds(seconds).toNanos();
        T answer = ask.get();
        while (!right.test(answer)) {
            if (System.nanoTime() > late) {
                Assertions.fail("waited for " + what + ", last seen: " + answer);
            }
            pause();
            answer = ask.get();
        }
        return answer;
    }

    private static HttpResponse<String> request(String method, String url) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url)).header("Accept", "application/json")
                .timeout(Duration.ofSeconds(10)).method(method, HttpRequest.BodyPublishers.noBody());
        String credentials = URI.create(url).getUserInfo();
        if (credentials != null) {
            String encoded = Base64.getEncoder().encodeToString(credentials.getBytes(StandardCharsets.UTF_8));
            request.header("Authorization", "Basic " + encoded);
        }
        try {
            return CLIENT.send(request.build(), HttpResponse.BodyHandlers.ofString());
        } catch (ConnectException e) {
            return null;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void pause() {
        try {
            Thread.sleep(200);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
