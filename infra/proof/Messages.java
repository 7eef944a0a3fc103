import io.swagger.v3.parser.OpenAPIV3Parser;
import io.swagger.v3.parser.core.models.ParseOptions;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Prints what the parser has to say about OpenAPI documents, one line a message: the file, a tab, the message. */
class Messages {
  public static void main(String[] files) throws Exception {
    for (String file : files) {
      List<String> messages = new OpenAPIV3Parser().readContents(Files.readString(Path.of(file)), null, new ParseOptions()).getMessages();
      for (String message : messages) {
        System.out.println(file + "\t" + message);
      }
    }
  }
}
