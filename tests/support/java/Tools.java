import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs Kafka's command line programs one after another in one process, as starting Java costs more than any of them.
 * A line of standard input is a class and its arguments, separated by tabs. What it printed comes back after a line
 * with its exit status and the number of bytes.
 */
public class Tools {
    static final class Ended extends RuntimeException {
        final int status;

        Ended(int status) {
            this.status = status;
        }
    }

    public static void main(String[] ignored) throws Exception {
        Exit.setExitProcedure((status, message) -> {
            throw new Ended(status);
        });
        PrintStream back = System.out;
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split("\t", -1);
            ByteArrayOutputStream printed = new ByteArrayOutputStream();
            PrintStream to = new PrintStream(printed, true, StandardCharsets.UTF_8);
            System.setOut(to);
            System.setErr(to);
            int status = run(words[0], Arrays.copyOfRange(words, 1, words.length), to);
            to.flush();
            back.println(status + " " + printed.size());
            back.write(printed.toByteArray());
            back.flush();
        }
    }

    private static int run(String program, String[] arguments, PrintStream to) throws Exception {
        try {
            Class.forName(program).getMethod("main", String[].class).invoke(null, (Object) arguments);
            return 0;
        } catch (InvocationTargetException failure) {
            if (failure.getCause() instanceof Ended) {
                return ((Ended) failure.getCause()).status;
            }
            failure.getCause().printStackTrace(to);
            return -1;
        }
    }
}
