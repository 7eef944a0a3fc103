package e2e;

import com.netflix.appinfo.ApplicationInfoManager;
import com.netflix.appinfo.InstanceInfo.InstanceStatus;
import java.util.Map;
import java.util.stream.Collectors;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.cloud.client.ServiceInstance;
import org.springframework.cloud.client.discovery.DiscoveryClient;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** A service that shows what its DiscoveryClient sees and lets a test change what it says of itself. */
@SpringBootApplication
@RestController
public class Service {

    private final DiscoveryClient discovery;
    private final ApplicationInfoManager self;
    private final String name;

    Service(DiscoveryClient discovery, ApplicationInfoManager self, @Value("${spring.application.name}") String name) {
        this.discovery = discovery;
        this.self = self;
        this.name = name;
    }

    public static void main(String[] args) {
        SpringApplication.run(Service.class, args);
    }

    @GetMapping("/id")
    String id() {
        return self.getInfo().getInstanceId();
    }

    /** The instances of this very application that can be called: metadata by instance id. */
    @GetMapping("/usable")
    Map<String, Map<String, String>> usable() {
        return discovery.getInstances(name).stream()
                .collect(Collectors.toMap(ServiceInstance::getInstanceId, ServiceInstance::getMetadata));
    }

    @PutMapping("/metadata")
    void metadata(@RequestParam Map<String, String> more) {
        self.registerAppMetadata(more);
    }

    @PutMapping("/status")
    void status(@RequestParam InstanceStatus value) {
        self.setInstanceStatus(value);
    }
}
