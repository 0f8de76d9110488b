import org.codelibs.opensearch.runner.OpenSearchRunner;

/** Runs a node of OpenSearch on this machine only, until standard input ends. Arguments: its folder and its port. */
public class Node {
    public static void main(String[] arguments) throws Exception {
        try (OpenSearchRunner runner = new OpenSearchRunner()) {
            runner.onBuild((number, settings) -> {
                settings.put("http.host", "127.0.0.1");
                settings.put("http.port", arguments[1]);
                settings.put("transport.host", "127.0.0.1");
                settings.put("discovery.type", "single-node");
                settings.remove("cluster.initial_cluster_manager_nodes");
            }).build(OpenSearchRunner.newConfigs().basePath(arguments[0]).numOfNode(1).clusterName("heartwood-tests"));
            while (System.in.read() >= 0) {
                // It only waits for the end.
            }
        }
        System.exit(0);
    }
}
