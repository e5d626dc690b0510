select hour, count(*) as flights, round(avg(dep_delay), 1) as mean_delay, max(dep_delay) as worst
from flights where dep_delay is not null group by hour order by mean_delay desc, hour limit 6
