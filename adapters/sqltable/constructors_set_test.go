package sqltable_test

import (
	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/mysqltable"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/pgtable"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/sqlitetable"
)

func init() {
	sqltable.OpenPostgres, sqltable.OpenSQLite, sqltable.OpenMySQL = pgtable.Open, sqlitetable.Open, mysqltable.Open
	sqltable.PostgresTriggers, sqltable.SQLiteTriggers, sqltable.MySQLTriggers = pgtable.Triggers, sqlitetable.Triggers, mysqltable.Triggers
	sqltable.ListPostgres, sqltable.ListSQLite, sqltable.ListMySQL = pgtable.List, sqlitetable.List, mysqltable.List
}
