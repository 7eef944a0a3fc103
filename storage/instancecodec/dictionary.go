package instancecodec

// dictionary is what DEFLATE may refer back to in every record: texts that
// records hold, the commonest last, in the order and with the length bytes
// that records have them. It is part of Format 1: a change makes every stored
// item unreadable (TestDictionaryIsFrozen).
var dictionary = []byte("" +
	// Amazon's metadata, and what runs in containers.
	"\x06ami-id\x15ami-0123456789abcdef0\x0cinstance-id\x13i-0123456789abcdef0\x0dinstance-type\x08m5.larget3.medium\x0alocal-ipv4" +
	"\x0elocal-hostname\x0bpublic-ipv4\x0fpublic-hostname\x03mac\x06vpc-id\x15vpc-0123456789abcdef0\x09accountId\x11availability-zone" +
	"\x0aus-east-1a\x0aus-west-2b\x0aeu-west-1c\x0ceu-central-1a\x0eap-southeast-1" +
	".compute.amazonaws.com.us-west-2.compute.internal.eu-west-1.compute.internal.eu-central-1.compute.internal.ec2.internalip-10-0-ip-172-" +
	".default.svc.cluster.local.svc.example.com.example.org.internal.lan" +
	// Metadata of services.
	"\x03api\x02v1\x02v2\x07version\x050.0.1\x051.0.0-SNAPSHOT\x0aactive\x07profile\x07default\x04prod\x03dev\x0bcontextPath\x0bcontext-path" +
	"\x04user\x08password\x05group\x06weight\x06region\x04team\x06canary\x04true\x05false\x0binstanceId\x08gRPC.port\x09grpc.port\x0cstartup" +
	"\x04zone\x05zone1\x0bdefaultZone\x08jmx.port\x0fmanagement.port\x048081\x049090\x043000\x045000\x0fmanagement.port\x048080" +
	"-service-gateway-server-api-config-auth-account-order-payment-user-product-inventory-notification" +
	"\x12/swagger-ui.html/api-docs/healthcheck/manage/health/manage/info" +
	"https://:8443/actuator/health:443/:8081/actuator/health:8081/actuator/info" +
	// A usual lease as readers see it, and a usual registration, each from its
	// first field to its last.
	"\x01\x05\x06\xa0\x7e\xf6\x06\x02\x09\x0b\x00\x02\x0fmanagement.port\x048080\x04zone\x07default" +
	"\x00\x00\xe0\xd4\x03\xa0\xfe\x0a" +
	"\x01localhost192.168.172.17.0.10.0.10.1.:8080\x01\x00\x00\xa0\x01\xf6\x06\x02\x0a\x0c\x01\x00\x00\xa0\x7e\xf6\x06\x02\x09\x0b\x00\x01\x0fmanagement.port\x048081" +
	"\x16http://10.0.0.1:8080/%http://10.0.0.1:8080/actuator/info'http://10.0.0.1:8080/actuator/health\x00" +
	":8080/actuator/info:8080/actuator/health\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")
