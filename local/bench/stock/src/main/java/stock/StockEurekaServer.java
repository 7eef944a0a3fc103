package stock;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.cloud.netflix.eureka.server.EnableEurekaServer;

/** Spring Cloud's Eureka server as it comes, alone: no peers, not registered with itself. */
@SpringBootApplication
@EnableEurekaServer
public class StockEurekaServer {

    public static void main(String[] args) {
        SpringApplication.run(StockEurekaServer.class, args);
    }
}
