import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

/** What Arrow's driver for JDBC does with Flight SQL, and what it finds out about tables: it says nothing where all is right. */
public class WithFlight {
    static void same(Object found, Object wanted) {
        if (!found.equals(wanted)) {
            throw new AssertionError(found + ", not " + wanted);
        }
    }

    interface Act {
        void run() throws Exception;
    }

    static void fails(Act act, String what) throws Exception {
        try {
            act.run();
        } catch (SQLException error) {
            for (Throwable at = error; at != null; at = at.getCause()) {
                if (String.valueOf(at.getMessage()).contains(what)) {
                    return;
                }
            }
            throw new AssertionError(error + " does not say " + what);
        }
        throw new AssertionError("it was done, and should say " + what);
    }

    /** The texts of some columns of all rows. */
    static List<String> rows(ResultSet rows, String... columns) throws SQLException {
        List<String> all = new ArrayList<>();
        try (rows) {
            while (rows.next()) {
                StringBuilder row = new StringBuilder();
                for (String column : columns) {
                    row.append(row.length() == 0 ? "" : " ").append(rows.getString(column));
                }
                all.add(row.toString());
            }
        }
        return all;
    }

    static void statements(Connection connection) throws Exception {
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("create table customers (id int primary key, name text not null, balance decimal(12, 2), since date)");
            statement.executeUpdate("create table orders (id bigint primary key, customer int references customers (id), note text)");
            statement.executeUpdate("create view late as select * from orders");
            same(statement.executeUpdate("insert into customers values (1, 'Ada', 12.50, date '1815-12-10'), (2, 'Bob', null, null)"), 2);
            try (ResultSet all = statement.executeQuery("select * from customers order by id")) {
                same(all.next(), true);
                same(all.getInt("id"), 1);
                same(all.getString("name"), "Ada");
                same(all.getBigDecimal("balance").toPlainString(), "12.50");
                same(all.getDate("since").toString(), "1815-12-10");
                same(all.next(), true);
                same(all.getBigDecimal("balance") == null, true);
                same(all.next(), false);
            }
            fails(() -> statement.executeQuery("select nothing from customers"), "nothing");
            fails(() -> statement.executeUpdate("insert into customers values (1, 'Eve', null, null)"), "23505");
            int count = 0;
            try (ResultSet many = statement.executeQuery("select range as n from range(0, 200000)")) {
                while (many.next()) {
                    same(many.getLong(1), (long) count++);
                }
            }
            same(count, 200000);
        }
    }

    static void prepared(Connection connection) throws Exception {
        try (PreparedStatement insert = connection.prepareStatement("insert into orders values (?, ?, ?)")) {
            for (int nth = 1; nth <= 3; nth++) {
                insert.setLong(1, nth);
                insert.setInt(2, 1);
                insert.setString(3, "note " + nth);
                same(insert.executeUpdate(), 1);
            }
        }
        try (PreparedStatement select = connection.prepareStatement("select note from orders where id > ? and customer = ? order by id")) {
            select.setLong(1, 1);
            select.setInt(2, 1);
            same(rows(select.executeQuery(), "note"), List.of("note 2", "note 3"));
            select.setLong(1, 2);
            select.setInt(2, 1);
            same(rows(select.executeQuery(), "note"), List.of("note 3"));
        }
    }

    static void metadata(Connection connection) throws Exception {
        DatabaseMetaData told = connection.getMetaData();
        same(told.getDatabaseProductName(), "Ambo");
        same(told.getIdentifierQuoteString(), "\"");
        same(told.supportsTransactions(), true);
        same(rows(told.getCatalogs(), "TABLE_CAT"), List.of("ambo"));
        same(rows(told.getSchemas(null, "main"), "TABLE_SCHEM"), List.of("main"));
        same(rows(told.getTableTypes(), "TABLE_TYPE"), List.of("TABLE", "VIEW"));
        same(rows(told.getTables(null, "main", "%", new String[] {"TABLE"}), "TABLE_NAME"), List.of("customers", "orders"));
        same(rows(told.getTables(null, "main", "l%", null), "TABLE_NAME", "TABLE_TYPE"), List.of("late VIEW"));
        same(rows(told.getColumns(null, "main", "customers", "%"), "COLUMN_NAME", "DATA_TYPE", "IS_NULLABLE"),
            List.of("id 4 NO", "name 12 NO", "balance 3 YES", "since 91 YES"));
        same(rows(told.getPrimaryKeys(null, "main", "orders"), "COLUMN_NAME", "KEY_SEQ"), List.of("id 1"));
        same(rows(told.getImportedKeys(null, "main", "orders"), "PKTABLE_NAME", "PKCOLUMN_NAME", "FKTABLE_NAME", "FKCOLUMN_NAME"),
            List.of("customers id orders customer"));
        same(rows(told.getExportedKeys(null, "main", "customers"), "FKTABLE_NAME"), List.of("orders"));
        same(rows(told.getCrossReference(null, "main", "customers", null, "main", "orders"), "FKCOLUMN_NAME"), List.of("customer"));
    }

    public static void main(String[] args) throws Exception {
        String url = "jdbc:arrow-flight-sql://" + args[0] + "?useEncryption=false&user=" + args[1] + "&password=" + args[2];
        try (Connection connection = DriverManager.getConnection(url)) {
            statements(connection);
            prepared(connection);
            metadata(connection);
        }
    }
}
